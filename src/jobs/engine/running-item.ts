import {Deferred} from '../../shared/async/deferred.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import type {AttemptOutcome, ReportAnswer} from '../item-worker.js';
import type {FailureKind} from '../job-description.js';
import type {StoredItem} from '../store/job-store.js';
import type {PooledExecutor} from './executor-pool.js';

/** A worker that is told to end has this long before the engine stops waiting for it. */
const MAX_END_MS = 15_000;

/** End of an attempt that the engine decided on, whatever its worker says later. */
export interface Verdict {
	readonly kind: FailureKind | 'cancelled';
	readonly error: string;
}

/** Identity of an attempt. */
export interface AttemptFacts {
	readonly item: number;
	readonly stored: StoredItem;
	readonly attempt: number;
	readonly token: string;
	readonly on: PooledExecutor;
}

/** An attempt that is under way. */
export class RunningItem {
	readonly facts: AttemptFacts;
	/** Set by the engine as soon as the result is accepted. */
	isCompleted = false;
	/** Reports that did not match the schema. */
	schemaFailures = 0;
	readonly #startedAt = performance.now();
	readonly #abort = new AbortController();
	readonly #ended = new Deferred();
	readonly #reports = new Set<Promise<unknown>>();
	#verdict: Verdict | undefined;
	#limit: NodeJS.Timeout | undefined;
	#grace: NodeJS.Timeout | undefined;

	constructor(facts: AttemptFacts) {
		this.facts = facts;
	}

	get verdict(): Verdict | undefined {
		return this.#verdict;
	}

	/** True once a report cannot be accepted any more. */
	get isDecided(): boolean {
		return this.isCompleted || this.#verdict !== undefined;
	}

	get signal(): AbortSignal {
		return this.#abort.signal;
	}

	get elapsedMs(): number {
		return Math.round(performance.now() - this.#startedAt);
	}

	/** Settles when the engine wants the attempt to end. */
	get ended(): Promise<void> {
		return this.#ended.promise;
	}

	/** Calls back when the time is over, unless the attempt is. */
	limitTo(ms: number, expire: () => void): void {
		this.#limit = setTimeout(expire, Math.min(Math.ceil(ms), MAX_TIMER_MS));
	}

	/** The attempt has failed, or is not wanted any more: its worker has to end. The first verdict counts. */
	decide(verdict: Verdict): void {
		if (this.isDecided) return;
		this.#verdict = verdict;
		this.#end();
	}

	/** The result is in: the worker may end by itself for a while. */
	endWithin(ms: number): void {
		clearTimeout(this.#limit);
		this.#grace = setTimeout(() => this.#end(), ms);
	}

	/** The outcome of the worker, or `lost` if it does not end although it was told to. */
	async waitFor(work: Promise<AttemptOutcome>): Promise<AttemptOutcome> {
		let timer: NodeJS.Timeout | undefined;
		const tooLate = this.#ended.promise.then(
			() =>
				new Promise<AttemptOutcome>(resolve => {
					const outcome = {kind: 'failed', reason: 'lost', error: 'worker could not be ended'} as const;
					timer = setTimeout(() => resolve(outcome), MAX_END_MS);
				}),
		);
		try {
			return await Promise.race([work, tooLate]);
		} finally {
			clearTimeout(timer);
		}
	}

	/** A report that is being judged: the attempt is not without a result before that. */
	expectReport(report: Promise<ReportAnswer>): Promise<ReportAnswer> {
		const judged = report.finally(() => this.#reports.delete(judged));
		this.#reports.add(judged);
		return judged;
	}

	/** Settles when no report is being judged, or the engine wants the attempt to end. */
	async settleReports(): Promise<void> {
		while (this.#reports.size > 0 && !this.isDecided) {
			await Promise.race([Promise.allSettled(this.#reports), this.#ended.promise]);
		}
	}

	/** Releases the timers. */
	dispose(): void {
		clearTimeout(this.#limit);
		clearTimeout(this.#grace);
	}

	#end(): void {
		this.#ended.resolve();
		const {kind, error} = this.#verdict ?? {kind: 'reported', error: 'the result was accepted'};
		this.#abort.abort(new Error(`${kind}: ${error}`));
	}
}
