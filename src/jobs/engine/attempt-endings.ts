import {waitAtMost, withTimeout} from '../../shared/async/timeout.js';
import {errorMessage} from '../../shared/errors.js';
import type {AttemptOutcome, ItemAttempt, ItemWorker} from '../item-worker.js';
import type {FailureKind} from '../job-description.js';
import type {RequeueKind} from '../store/job-records.js';
import type {JobStore, StoredItem} from '../store/job-store.js';
import type {JobEvent} from './job-events.js';
import {toReason} from './reason-text.js';
import type {RunningItem} from './running-item.js';

/** Attempts at one item that may be lost before it fails. */
const MAX_LOSSES = 20;
/** Refusals of one item in a row before it fails: some eight minutes. */
const MAX_REFUSALS = 100;
const LOST = 'worker lost';

export interface AttemptEndingsOptions {
	readonly store: JobStore;
	readonly worker: ItemWorker;
	readonly emit: (event: JobEvent) => void;
	readonly toAttempt: (running: RunningItem) => ItemAttempt;
	/** Cancels the job. */
	readonly stop: (reason: string) => void;
	/** An executor was lost, or is back. */
	readonly lost: () => void;
}

interface Failure {
	readonly kind: FailureKind | 'refused' | 'cancelled';
	readonly error: string;
	readonly exitCode?: number | undefined;
}

/** Turns the end of an attempt into a record: failed, tried again, or left in doubt. */
export class AttemptEndings {
	readonly #options: AttemptEndingsOptions;
	/** How often items were lost or refused; only those that were. */
	readonly #setbacks = new Map<number, {losses: number; refusals: number}>();

	constructor(options: AttemptEndingsOptions) {
		this.#options = options;
	}

	/** Waits for the worker and records how the attempt ended, unless its result was accepted. */
	async follow(running: RunningItem, work: Promise<AttemptOutcome>): Promise<void> {
		const outcome = await running.waitFor(work.catch(toFailedOutcome));
		await running.settleReports();
		if (running.isCompleted) return this.#forget(running);
		// It was found to be over, and that is recorded.
		if (this.#options.store.table.statusOf(running.facts.item) !== 'running') return;
		const {verdict} = running;
		const failure: Failure = verdict ?? toFailure(outcome);
		const isUnknown = outcome.kind === 'failed' && outcome.reason === 'lost';
		if (isUnknown && !verdict) return this.#waitForLost(running);
		if (failure.kind === 'cancelled') {
			// Of an attempt that may still run the journal keeps saying so, for the next runner.
			return isUnknown ? undefined : this.#requeue(running, {kind: 'cancelled', error: failure.error, counts: false});
		}
		if (failure.kind === 'refused') return this.#backOff(running, failure.error);
		const {rules} = this.#options.store.job;
		const mayRetry = !isUnknown && rules.retryOn.includes(failure.kind);
		if (mayRetry && this.#hasRetries(running)) {
			return this.#requeue(running, {kind: failure.kind, error: failure.error, counts: true});
		}
		await this.#fail(running, failure.kind, failure.error, failure.exitCode);
	}

	/** Asks the worker for an attempt of an earlier runner, or of a lost connection. */
	async recover(running: RunningItem): Promise<AttemptOutcome> {
		const {worker, toAttempt} = this.#options;
		const outcome = worker.recover ? await worker.recover(toAttempt(running)) : 'over';
		if (outcome !== 'over') return outcome;
		if (running.verdict) return {kind: 'unreported'};
		await this.#requeueLost(running);
		return {kind: 'failed', reason: 'lost', error: LOST};
	}

	/** An item whose executor does not belong to the job any more: it waits again when its lease is over. */
	async abandon(item: number, {itemId}: StoredItem, executor: string): Promise<void> {
		const {store, emit} = this.#options;
		await waitAtMost(new Promise(() => {}), store.job.rules.leaseMs);
		const error = `executor ${executor} is gone`;
		await store.append({type: 'requeue', at: Date.now(), item, kind: 'lost', error, counts: false});
		emit({type: 'item.requeued', item_id: itemId, row_index: item, kind: 'lost', error});
	}

	/**
	 * The connection was lost, so the attempt may still run. Another one is made only when the executor says that it does not,
	 * or when it has been unreachable for the time of the lease.
	 */
	async #waitForLost(running: RunningItem): Promise<void> {
		const {store, lost} = this.#options;
		const {on} = running.facts;
		if (++this.#setbacksOf(running).losses > MAX_LOSSES) return this.#fail(running, 'lost', LOST);
		const answer = on.lose().then(
			() => true,
			() => false,
		);
		void answer.then(lost);
		lost();
		const first = Promise.race([answer, running.ended.then(() => false)]);
		const hasAnswered = await withTimeout(first, store.job.rules.leaseMs, () => false);
		if (running.isDecided || hasAnswered) return this.follow(running, this.recover(running));
		await this.#requeueLost(running);
	}

	async #requeueLost(running: RunningItem): Promise<void> {
		const {countLost} = this.#options.store.job.rules;
		if (countLost && !this.#hasRetries(running)) return this.#fail(running, 'lost', LOST);
		await this.#requeue(running, {kind: 'lost', error: LOST, counts: countLost});
	}

	async #backOff(running: RunningItem, error: string): Promise<void> {
		running.facts.on.backOff();
		if (++this.#setbacksOf(running).refusals > MAX_REFUSALS) return this.#fail(running, 'start', error);
		await this.#requeue(running, {kind: 'refused', error, counts: false});
	}

	#hasRetries({facts}: RunningItem): boolean {
		const {table, job} = this.#options.store;
		return table.retriesOf(facts.item) < job.rules.retries;
	}

	async #requeue(
		{facts}: RunningItem,
		{kind, error: text, counts}: {kind: RequeueKind; error: string; counts: boolean},
	): Promise<void> {
		const {item, stored} = facts;
		const error = toReason(text);
		await this.#options.store.append({type: 'requeue', at: Date.now(), item, kind, error, counts});
		this.#options.emit({type: 'item.requeued', item_id: stored.itemId, row_index: item, kind, error});
	}

	async #fail(running: RunningItem, kind: FailureKind, text: string, exitCode?: number): Promise<void> {
		const {store, emit, stop} = this.#options;
		const error = toReason(text);
		const {item, stored, on} = running.facts;
		const ms = running.elapsedMs;
		const executor = on.executor.name;
		const code = exitCode === undefined ? {} : {code: exitCode};
		await store.append({type: 'fail', at: Date.now(), item, kind, error, executor, ms, ...code});
		this.#forget(running);
		emit({type: 'item.failed', item_id: stored.itemId, row_index: item, kind, error, duration_ms: ms});
		const {maxFailures} = store.job.rules;
		const {failed} = store.table.counts;
		if (maxFailures !== undefined && failed >= maxFailures) stop(`stopped after ${failed} failed items`);
	}

	#setbacksOf({facts}: RunningItem): {losses: number; refusals: number} {
		const known = this.#setbacks.get(facts.item);
		if (known) return known;
		const created = {losses: 0, refusals: 0};
		this.#setbacks.set(facts.item, created);
		return created;
	}

	#forget({facts}: RunningItem): void {
		this.#setbacks.delete(facts.item);
	}
}

/** A worker that throws has failed by itself. */
function toFailedOutcome(error: unknown): AttemptOutcome {
	return {kind: 'failed', reason: 'exit', error: errorMessage(error)};
}

function toFailure(outcome: AttemptOutcome): Failure {
	if (outcome.kind === 'failed') return {kind: outcome.reason, error: outcome.error, exitCode: outcome.exitCode};
	const {exitCode} = outcome;
	const error = outcome.kind === 'unreported' ? outcome.error : undefined;
	const ofExit =
		exitCode === undefined || exitCode === 0
			? 'worker finished without reporting a result'
			: `worker exited with code ${exitCode}`;
	return {kind: 'exit', error: error ?? ofExit, exitCode};
}
