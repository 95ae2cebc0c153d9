import {Deferred} from '../../shared/async/deferred.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {randomHex} from '../../shared/random-id.js';
import {itemConsumer, itemConsumerName} from './item-deliveries.js';
import type {JetStreamLink} from './jet-stream-link.js';
import type {JetStreamStore} from './jet-stream-store.js';
import {JobLease} from './job-lease.js';
import type {JobSubjects} from './job-subjects.js';

/** Items that are on their way to the queue at once. */
const MAX_IN_FLIGHT = 512;
/** Characters of rows that are on their way at once: the client of the broker buffers without a bound. */
const MAX_IN_FLIGHT_CHARS = 4 * 1024 * 1024;
/** Items of one job that are in the queue at once. */
export const MAX_OUTSTANDING = 10_000;
/** How often missing items are looked for. */
const SWEEP_MS = 30_000;
/** Pause while the queue has no room. */
const FULL_MS = 1000;
const EPOCH_BYTES = 6;

export interface ItemPublisherOptions {
	readonly link: JetStreamLink;
	readonly subjects: JobSubjects;
	readonly store: JetStreamStore;
	readonly pool: string;
	readonly onError: (error: unknown) => void;
	readonly sweepMs?: number | undefined;
}

/**
 * Coordinates a job: puts every item into the queue whose result is not known, and does it again for those that were lost.
 * One runner at a time has the lease for it. Two at once do no harm: the queue has an item once, and its result counts once.
 */
export class ItemPublisher {
	readonly #options: ItemPublisherOptions;
	readonly #lease: JobLease;
	readonly #stopped = new AbortController();
	/** Items in the queue, as far as is known here. */
	#queued: Uint8Array;
	#outstanding = 0;
	readonly #chars = new Budget(MAX_IN_FLIGHT_CHARS);
	/** First item that was not looked at. */
	#cursor = 0;
	/** Settles when more items may be published; only while that is waited for. */
	#room: Deferred | undefined;
	readonly #running: Promise<void>;
	/** Items that were published; twice for one that was swept. */
	published = 0;

	constructor(options: ItemPublisherOptions) {
		this.#options = options;
		const {link, subjects, store} = options;
		this.#queued = new Uint8Array(store.table.total);
		this.#lease = new JobLease(link, subjects.lease(store.job.jobId));
		store.onSettled = item => this.#settle(item);
		this.#running = this.#run().catch((error: unknown) => {
			if (!this.#stopped.signal.aborted) options.onError(error);
		});
	}

	get hasLease(): boolean {
		return this.#lease.isHeld;
	}

	/** Gives the lease back. */
	async close(): Promise<void> {
		this.#stopped.abort();
		this.#makeRoom();
		await this.#running;
		await this.#lease.release().catch(() => {});
	}

	async #run(): Promise<void> {
		const {signal} = this.#stopped;
		const {store, link, subjects, pool, sweepMs = SWEEP_MS} = this.#options;
		const {jobId, rules} = store.job;
		await link.ensureConsumer(
			subjects.queueStream,
			itemConsumer(jobId, subjects.queued(pool, jobId, '*'), rules.maxConcurrency),
		);
		while (!signal.aborted) {
			if (!(await this.#lease.take(signal))) return;
			this.#queued.fill(0);
			this.#outstanding = 0;
			// Within one epoch a repeated item is known to the broker by its id.
			let epoch = randomHex(EPOCH_BYTES);
			while (!signal.aborted && (await this.#publishMissing(epoch)) && this.#lease.isHeld) {
				await waitAtMost(this.#lease.lost, sweepMs, signal);
				if (signal.aborted || !this.#lease.isHeld) break;
				if (!(await this.#isSweepDue())) continue;
				this.#queued.fill(0);
				this.#outstanding = 0;
				epoch = randomHex(EPOCH_BYTES);
			}
		}
	}

	/** False if the lease was lost meanwhile. */
	async #publishMissing(epoch: string): Promise<boolean> {
		this.#cursor = 0;
		await Promise.all(Array.from({length: MAX_IN_FLIGHT}, () => this.#publishNext(epoch)));
		return this.#lease.isHeld;
	}

	/** Publishes one missing item after the other, until there is none, or nobody wants them any more. */
	async #publishNext(epoch: string): Promise<void> {
		while (this.#isWanted) {
			if (this.#outstanding >= MAX_OUTSTANDING) {
				await this.#waitForRoom();
				continue;
			}
			const item = this.#takeMissing();
			if (item === undefined) return;
			await this.#publish(item, epoch);
		}
	}

	get #isWanted(): boolean {
		const {table} = this.#options.store;
		return !this.#stopped.signal.aborted && this.#lease.isHeld && table.cancelReason === undefined;
	}

	#takeMissing(): number | undefined {
		const {store} = this.#options;
		for (; this.#cursor < store.table.total; this.#cursor++) {
			const item = this.#cursor;
			if (store.isSettled(item) || this.#queued[item] === 1) continue;
			this.#queued[item] = 1;
			this.#outstanding++;
			return item;
		}
		return undefined;
	}

	async #publish(item: number, epoch: string): Promise<void> {
		const {store} = this.#options;
		const line = await store.rows.readLine(item);
		await this.#chars.take(line.length);
		try {
			await this.#publishLine(item, line, epoch);
		} finally {
			this.#chars.give(line.length);
		}
	}

	async #publishLine(item: number, line: string, epoch: string): Promise<void> {
		const {link, subjects, store, pool} = this.#options;
		const {jobId} = store.job;
		const subject = subjects.queued(pool, jobId, item);
		while (!this.#stopped.signal.aborted && !store.isSettled(item)) {
			const {kind} = await link.publish(subject, line, {msgId: `${jobId}.${item}.${epoch}`});
			if (kind === 'stored') this.published++;
			if (kind !== 'full') return;
			await waitAtMost(new Promise(() => {}), FULL_MS, this.#stopped.signal);
		}
	}

	/** Only if all results are known here, and nothing of the job is in the queue: whatever is missing then is lost. */
	async #isSweepDue(): Promise<boolean> {
		const {link, subjects, store} = this.#options;
		const {pending, running} = store.table.counts;
		if (pending + running === 0 || store.table.cancelReason !== undefined) return false;
		const consumer = await link.findConsumer(subjects.queueStream, itemConsumerName(store.job.jobId));
		if (!consumer || consumer.num_pending + consumer.num_ack_pending > 0) return false;
		return store.isCaughtUp();
	}

	#settle(item: number): void {
		if (this.#queued[item] === 0) return;
		this.#queued[item] = 0;
		this.#outstanding--;
		if (this.#outstanding <= MAX_OUTSTANDING - MAX_IN_FLIGHT) this.#makeRoom();
	}

	async #waitForRoom(): Promise<void> {
		this.#room ??= new Deferred();
		await Promise.race([this.#room.promise, this.#lease.lost]);
	}

	#makeRoom(): void {
		this.#room?.resolve();
		this.#room = undefined;
	}
}

/** An amount that is taken and given back; who wants more than is left waits, and one always goes on. */
class Budget {
	readonly #max: number;
	readonly #waiting: (() => void)[] = [];
	#taken = 0;

	constructor(max: number) {
		this.#max = max;
	}

	async take(amount: number): Promise<void> {
		while (this.#taken > 0 && this.#taken + amount > this.#max) {
			await new Promise<void>(resolve => this.#waiting.push(resolve));
		}
		this.#taken += amount;
	}

	give(amount: number): void {
		this.#taken -= amount;
		this.#waiting.shift()?.();
	}
}
