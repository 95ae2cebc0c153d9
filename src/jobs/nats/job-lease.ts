import {hostname} from 'node:os';
import {loadJetStream} from '../../hub/nats/nats-modules.js';
import {Deferred} from '../../shared/async/deferred.js';
import {ignoreRejection} from '../../shared/async/ignore-rejection.js';
import {waitAtMost, withTimeout} from '../../shared/async/timeout.js';
import type {JetStreamLink, Published} from './jet-stream-link.js';

/** A lease that is not renewed for so long is free. */
const JOB_LEASE_MS = 10_000;
const RENEW_MS = 3000;
/** A lease that is seen unchanged for so long is free although it is still there: its broker has not removed it. */
const MAX_UNCHANGED_MS = JOB_LEASE_MS + RENEW_MS;
/** Without an answer for so long the stream of leases is made again, and then nobody waits for it any longer. */
const MAX_SILENCE_MS = 2000;
/** A right that was taken without the stream of leases ends after so long. */
const UNWRITTEN_MS = 60_000;
const NANOS_PER_MS = 1_000_000;
/** How often one is tried for that another has. */
const TRY_MS = 2000;
/** Content of a lease, for people who look for its holder. */
const HOLDER = `${hostname()}:${process.pid}`;
/** Stream of all leases. */
const LEASE_STREAM = 'LA_JOB_LEASES';
const LEASE_SUBJECTS = 'la-lease.>';

/** Creates the stream of leases, as far as it is not there. It is in memory: a single broker that starts again has lost it. */
export async function ensureLeaseStream(link: JetStreamLink): Promise<void> {
	const {RetentionPolicy, StorageType} = loadJetStream();
	await link.ensureStream({
		name: LEASE_STREAM,
		subjects: [LEASE_SUBJECTS],
		storage: StorageType.Memory,
		retention: RetentionPolicy.Limits,
		max_msgs_per_subject: 1,
		max_age: JOB_LEASE_MS * NANOS_PER_MS,
		duplicate_window: JOB_LEASE_MS * NANOS_PER_MS,
	});
}

/**
 * Right to do something that one runner at a time should do: a message that expires. It saves work and guards nothing: across
 * a change of leaders two may have it, and while the stream of leases cannot be used everybody has it.
 */
export class JobLease {
	readonly #link: JetStreamLink;
	readonly #subject: string;
	#isHeld = false;
	/** Undefined while it is held without a message. */
	#seq: number | undefined;
	#lost = new Deferred();
	#timer: NodeJS.Timeout | undefined;

	constructor(link: JetStreamLink, subject: string) {
		this.#link = link;
		this.#subject = subject;
	}

	get isHeld(): boolean {
		return this.#isHeld;
	}

	/** Settles when a lease that was held is not held any more. */
	get lost(): Promise<void> {
		return this.#lost.promise;
	}

	/** Waits until it is held; false if the signal was aborted first. */
	async take(signal: AbortSignal): Promise<boolean> {
		let seen = {seq: 0, at: performance.now()};
		while (!signal.aborted) {
			const isUnchanged = performance.now() - seen.at > MAX_UNCHANGED_MS;
			const published = await this.#publishOrRestore(isUnchanged ? seen.seq : 0);
			if (signal.aborted) return false;
			if (published !== 'silence' && published.kind === 'stored') return this.#hold(published.seq);
			// A lease that is not renewed, or is not even there, is refused all the same if the broker has lost count of its messages.
			if (published === 'silence' || isUnchanged) return this.#hold(undefined);
			const seq = await this.#readSeq();
			if (seq !== seen.seq) seen = {seq, at: performance.now()};
			await waitAtMost(new Promise(() => {}), TRY_MS, signal);
		}
		return false;
	}

	async release(): Promise<void> {
		clearTimeout(this.#timer);
		if (!this.#isHeld) return;
		const isWritten = this.#seq !== undefined;
		this.#drop();
		if (isWritten) await this.#link.purge(LEASE_STREAM, this.#subject);
	}

	#hold(seq: number | undefined): true {
		this.#isHeld = true;
		this.#seq = seq;
		this.#lost = new Deferred();
		this.#timer =
			seq === undefined ? setTimeout(() => this.#drop(), UNWRITTEN_MS) : setTimeout(() => void this.#renew(), RENEW_MS);
		return true;
	}

	async #publishOrRestore(expectedLast: number): Promise<Published | 'silence'> {
		const publication = this.#link.publish(this.#subject, HOLDER, {expectedLast});
		void ignoreRejection(publication);
		const answer = await withTimeout(publication, MAX_SILENCE_MS, () => 'silence' as const);
		if (answer !== 'silence') return answer;
		await waitAtMost(
			ensureLeaseStream(this.#link).catch(() => {}),
			MAX_SILENCE_MS,
			this.#link.closed,
		);
		return withTimeout(publication, MAX_SILENCE_MS, () => 'silence' as const);
	}

	/** 0 without a lease, or without an answer. */
	async #readSeq(): Promise<number> {
		const asked = this.#link.findMessage(LEASE_STREAM, {last_by_subj: this.#subject});
		const message = await withTimeout(
			asked.catch(() => undefined),
			MAX_SILENCE_MS,
			() => undefined,
		);
		return message?.seq ?? 0;
	}

	async #renew(): Promise<void> {
		const seq = this.#seq;
		if (seq === undefined) return;
		const publication = this.#link.publish(this.#subject, HOLDER, {expectedLast: seq}).catch(() => undefined);
		const published = await withTimeout(publication, JOB_LEASE_MS - RENEW_MS, () => undefined);
		if (this.#seq !== seq) return;
		if (published?.kind !== 'stored') return this.#drop();
		this.#seq = published.seq;
		this.#timer = setTimeout(() => void this.#renew(), RENEW_MS);
	}

	#drop(): void {
		this.#isHeld = false;
		this.#seq = undefined;
		this.#lost.resolve();
	}
}
