import {Deferred} from '../../shared/async/deferred.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import {randomHex} from '../../shared/random-id.js';
import {itemConsumer} from './item-deliveries.js';
import type {JetStreamLink} from './jet-stream-link.js';
import type {JetStreamStore} from './jet-stream-store.js';
import {JobLease} from './job-lease.js';
import type {JobSubjects} from './job-subjects.js';
import {markKeptItems} from './kept-items.js';
import {QueueConsumer} from './queue-consumer.js';

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
/** Different subjects of an item that was lost. */
const MAX_LOSSES = 8;

export interface ItemPublisherOptions {
	readonly link: JetStreamLink;
	readonly subjects: JobSubjects;
	readonly store: JetStreamStore;
	readonly pool: string;
	readonly onError: (error: unknown) => void;
	/** Something was lost or hung, and is put right. */
	readonly onRepair: (problem: string, items: number) => void;
	readonly sweepMs?: number | undefined;
}

/**
 * Coordinates a job: puts every item into the queue whose result is not known, and does it again for those that were lost.
 * One runner at a time has the lease for it. Two at once do no harm: the queue has an item once, and its result counts once.
 */
export class ItemPublisher {
	readonly #options: ItemPublisherOptions;
	readonly #lease: JobLease;
	readonly #consumer: QueueConsumer;
	readonly #stopped = new AbortController();
	/** Items in the queue, as far as is known here. */
	#queued: Uint8Array;
	#outstanding = 0;
	readonly #chars = new Budget(MAX_IN_FLIGHT_CHARS);
	/** How often items were lost; only those that were. */
	readonly #losses = new Map<number, number>();
	/** First item that was not looked at. */
	#cursor = 0;
	/** Settles when more items may be published; only while that is waited for. */
	#room: Deferred | undefined;
	/** Settles when results turn out to be lost. */
	#reopened = new Deferred();
	#isReopened = false;
	/** Results that were known at the last look. */
	#settledBefore = 0;
	/** Whether the queue has no room, for this job and others together. */
	#isFull = false;
	readonly #running: Promise<void>;
	/** Items that were published; twice for one that was swept. */
	published = 0;

	constructor(options: ItemPublisherOptions) {
		this.#options = options;
		const {link, subjects, store, pool} = options;
		const {jobId, rules} = store.job;
		this.#queued = new Uint8Array(store.table.total);
		const filter = subjects.queued(pool, jobId, '*');
		const config = itemConsumer(jobId, filter, rules.maxConcurrency);
		this.#consumer = new QueueConsumer({link, stream: subjects.queueStream, config, maxRuntimeMs: rules.maxRuntimeMs});
		this.#lease = new JobLease(link, subjects.lease(store.job.jobId));
		store.onSettled = item => this.#settle(item);
		store.onReopened = () => {
			this.#isReopened = true;
			this.#reopened.resolve();
		};
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
		await this.#consumer.ensure();
		while (!signal.aborted) {
			if (!(await this.#lease.take(signal))) return;
			this.#queued.fill(0);
			this.#outstanding = 0;
			this.#cursor = 0;
			await this.#coordinate(signal);
		}
	}

	/** Publishes what is missing as far as there is room for it, and looks after what was published, until the lease is lost. */
	async #coordinate(signal: AbortSignal): Promise<void> {
		const {sweepMs = SWEEP_MS} = this.#options;
		let lookAt = performance.now() + sweepMs;
		while (!signal.aborted && this.#lease.isHeld) {
			await this.#publishMissing();
			const changed = [this.#lease.lost, this.#reopened.promise, this.#waitForRoom()];
			const waitMs = lookAt - performance.now();
			await waitAtMost(Promise.race(changed), this.#isFull ? Math.min(FULL_MS, waitMs) : waitMs, signal);
			if (signal.aborted || !this.#lease.isHeld) return;
			if (!this.#isReopened && performance.now() < lookAt) continue;
			if (this.#isReopened) this.#cursor = 0;
			this.#isReopened = false;
			this.#reopened = new Deferred();
			await this.#findLost();
			lookAt = performance.now() + sweepMs;
		}
	}

	async #publishMissing(): Promise<void> {
		// Within one epoch a repeated item is known to the broker by its id.
		const epoch = randomHex(EPOCH_BYTES);
		this.#isFull = false;
		await Promise.all(Array.from({length: MAX_IN_FLIGHT}, () => this.#publishNext(epoch)));
	}

	/** Publishes one missing item after the other, until there is none or no room, or nobody wants them any more. */
	async #publishNext(epoch: string): Promise<void> {
		while (this.#isWanted && !this.#isFull && this.#outstanding < MAX_OUTSTANDING) {
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
		if (this.#stopped.signal.aborted || store.isSettled(item)) return;
		const subject = subjects.queued(pool, jobId, item, this.#losses.get(item));
		const {kind} = await link.publish(subject, line, {msgId: `${jobId}.${item}.${epoch}`});
		if (kind === 'stored') this.published++;
		if (kind !== 'full') return;
		this.#isFull = true;
		this.#forget(item);
		this.#cursor = Math.min(this.#cursor, item);
	}

	/** The item is not in the queue. */
	#forget(item: number): void {
		if (this.#queued[item] === 0) return;
		this.#queued[item] = 0;
		this.#outstanding--;
	}

	/**
	 * Compares what is missing with what is in the queue, unless results have come since the last look and the queue has more.
	 * Only if all results are known here: a reader that is behind takes everything for lost.
	 */
	async #findLost(): Promise<void> {
		const {link, subjects, store, pool, onRepair} = this.#options;
		const {table, job} = store;
		const {pending, running} = table.counts;
		if (pending + running === 0 || table.cancelReason !== undefined) return;
		const hasProgress = store.settledCount > this.#settledBefore;
		this.#settledBefore = store.settledCount;
		if (hasProgress && !(await this.#consumer.isIdle())) return;
		if (!(await store.isCaughtUp())) return;
		const problem = await this.#consumer.repair(() => store.settledCount, this.#stopped.signal);
		if (problem !== undefined) onRepair(problem, pending + running);
		const kept = await markKeptItems(link, subjects.queueStream, subjects.queued(pool, job.jobId, '*'), table.total);
		const lost = await this.#forgetLost(kept);
		if (lost === 0) return;
		this.#cursor = 0;
		onRepair('items were neither in the queue nor done', lost);
	}

	/** Items that were put into the queue, are not there any more, and have no result either. */
	async #forgetLost(kept: Uint8Array): Promise<number> {
		const {store} = this.#options;
		let lost = 0;
		for (let item = 0; item < kept.length && this.#isWanted; item++) {
			if (this.#queued[item] === 0 || kept[item] === 1 || store.isSettled(item)) continue;
			if (await store.findResult(item)) continue;
			this.#forget(item);
			this.#losses.set(item, ((this.#losses.get(item) ?? 0) + 1) % MAX_LOSSES);
			lost++;
		}
		return lost;
	}

	#settle(item: number): void {
		this.#forget(item);
		if (this.#outstanding <= MAX_OUTSTANDING - MAX_IN_FLIGHT) this.#makeRoom();
	}

	/** Pending for ever while there is room. */
	#waitForRoom(): Promise<void> {
		if (this.#outstanding < MAX_OUTSTANDING) return new Promise(() => {});
		this.#room ??= new Deferred();
		return this.#room.promise;
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
