import {hostname} from 'node:os';
import {Deferred} from '../../shared/async/deferred.js';
import {waitAtMost} from '../../shared/async/timeout.js';
import type {JetStreamLink} from './jet-stream-link.js';

/** A lease that is not renewed for so long is free. */
export const JOB_LEASE_MS = 10_000;
const RENEW_MS = 3000;
/** How often one is tried for that another has. */
const TRY_MS = 2000;
/** Content of a lease, for people who look for its holder. */
const HOLDER = `${hostname()}:${process.pid}`;
/** Stream of all leases. */
export const LEASE_STREAM = 'LA_JOB_LEASES';
export const LEASE_SUBJECTS = 'la-lease.>';

/**
 * Right to do something that one runner at a time should do: a message that expires. It saves work and guards nothing: across
 * a change of leaders two may have it.
 */
export class JobLease {
	readonly #link: JetStreamLink;
	readonly #subject: string;
	#seq: number | undefined;
	#lost = new Deferred();
	#timer: NodeJS.Timeout | undefined;

	constructor(link: JetStreamLink, subject: string) {
		this.#link = link;
		this.#subject = subject;
	}

	get isHeld(): boolean {
		return this.#seq !== undefined;
	}

	/** Settles when a lease that was held is not held any more. */
	get lost(): Promise<void> {
		return this.#lost.promise;
	}

	/** Waits until it is held; false if the signal was aborted first. */
	async take(signal: AbortSignal): Promise<boolean> {
		while (!signal.aborted) {
			const published = await this.#link.publish(this.#subject, HOLDER, {expectedLast: 0});
			if (published.kind === 'stored') {
				this.#seq = published.seq;
				this.#lost = new Deferred();
				this.#renewLater();
				return true;
			}
			await waitAtMost(new Promise(() => {}), TRY_MS, signal);
		}
		return false;
	}

	async release(): Promise<void> {
		clearTimeout(this.#timer);
		if (this.#seq === undefined) return;
		this.#drop();
		await this.#link.purge(LEASE_STREAM, this.#subject);
	}

	#renewLater(): void {
		this.#timer = setTimeout(() => void this.#renew(), RENEW_MS);
	}

	async #renew(): Promise<void> {
		const seq = this.#seq;
		if (seq === undefined) return;
		const startedAt = performance.now();
		try {
			const published = await this.#link.publish(this.#subject, HOLDER, {expectedLast: seq});
			if (this.#seq !== seq) return;
			const isLate = performance.now() - startedAt > JOB_LEASE_MS - RENEW_MS;
			if (published.kind !== 'stored' || isLate) return this.#drop();
			this.#seq = published.seq;
			this.#renewLater();
		} catch {
			this.#drop();
		}
	}

	#drop(): void {
		this.#seq = undefined;
		this.#lost.resolve();
	}
}
