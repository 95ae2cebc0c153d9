import {Deferred} from '../../shared/async/deferred.js';
import {errorMessage} from '../../shared/errors.js';
import {randomHex} from '../../shared/random-id.js';
import type {ItemAttempt, ItemWorker, JobExecutor, ReportAnswer} from '../item-worker.js';
import type {FinalStatus, RecordOf} from '../store/job-records.js';
import type {ItemQueue, JobStore} from '../store/job-store.js';
import {judgeCaller, judgeReport, type ReportCall, type ReportedItem} from './acceptance.js';
import {AttemptEndings} from './attempt-endings.js';
import {PooledExecutor} from './executor-pool.js';
import type {JobEvent} from './job-events.js';
import {PendingItems} from './pending-items.js';
import {createPlacer, type Placer} from './placer.js';
import {ProgressMeter} from './progress-meter.js';
import {toReason} from './reason-text.js';
import type {ResultCheck} from './result-schema.js';
import {type AttemptFacts, RunningItem} from './running-item.js';

/** Time a worker has to end by itself after its result was accepted. */
const REPORT_GRACE_MS = 2000;
/** Reports of one attempt that do not match the schema; the last one fails it. */
const MAX_SCHEMA_FAILURES = 3;
/** A job whose executors have all been lost for so long fails. */
const MAX_OUTAGE_MS = 300_000;
/** Time to find the result of an attempt whose limit has passed, or nearly has, while no runner was there. */
const MIN_RECOVERY_MS = 1000;
const TOKEN_BYTES = 16;

/** Options of a `JobRunner`. */
export interface JobRunnerOptions {
	readonly store: JobStore;
	readonly worker: ItemWorker;
	readonly executors: readonly JobExecutor[];
	/** Check of results; none by default. */
	readonly check?: ResultCheck | undefined;
	readonly onEvent?: ((event: JobEvent) => void) | undefined;
	/** Failed items wait again. */
	readonly retryFailed?: boolean | undefined;
}

/**
 * Runs a job to its end: claims items in row order, has a worker do them, and records every transition before it counts.
 * Everything happens in answer to an event; nothing is looked at again and again.
 */
export class JobRunner {
	readonly #options: JobRunnerOptions;
	readonly #store: JobStore;
	readonly #executors: readonly PooledExecutor[];
	readonly #pending: ItemQueue;
	readonly #placer: Placer;
	readonly #progress: ProgressMeter;
	readonly #endings: AttemptEndings;
	readonly #finished = new Deferred<FinalStatus | 'left'>();
	readonly #closed = new AbortController();
	/** Attempts whose worker has not ended, by the id of their item. */
	readonly #running = new Map<string, RunningItem>();
	/** Attempts that are not decided. */
	#active = 0;
	#fatal: string | undefined;
	#isDraining = false;
	#isLeaving = false;
	#isFinishing = false;
	#drainTimer: NodeJS.Timeout | undefined;
	#outageTimer: NodeJS.Timeout | undefined;

	constructor(options: JobRunnerOptions) {
		const {store, executors, onEvent = () => {}} = options;
		this.#options = options;
		this.#store = store;
		const wake = (): void => this.#wake();
		this.#executors = executors.map(executor => new PooledExecutor(executor, wake, this.#closed.signal));
		this.#pending =
			store.openQueue?.({
				wake,
				settled: item => this.#dropSettled(item),
				cancelled: (reason, drainMs) => this.cancel(reason, drainMs),
			}) ?? new PendingItems(store.table);
		this.#placer = createPlacer(store.job.rules.placement, {
			pending: this.#pending,
			executors: this.#executors,
			readItem: item => store.readItem(item),
			wake,
			fail: error => this.#crash(error),
		});
		this.#progress = new ProgressMeter(store.job.jobId, store.table, progress =>
			onEvent({type: 'job.progress', ...progress}),
		);
		this.#endings = new AttemptEndings({
			store,
			worker: options.worker,
			emit: event => this.#emit(event),
			toAttempt: running => this.#toAttempt(running),
			stop: reason => this.cancel(reason),
			lost: () => this.#watchOutage(),
		});
	}

	/** Settles with the final state, or with `left` after `leave`; rejects when the store fails. */
	async run(): Promise<FinalStatus | 'left'> {
		const {store} = this;
		const {jobId, totalItems} = store.job;
		await store.append({type: 'run', at: Date.now(), ...(this.#options.retryFailed && {retryFailed: true})});
		this.#emit({type: 'job.started', job_id: jobId, total_items: totalItems});
		this.#progress.force();
		for (const item of store.table.itemsIn('running')) void this.#goOn(item);
		this.#wake();
		try {
			const status = await this.#finished.promise;
			this.#progress.force();
			if (status !== 'left') this.#emit({type: 'job.finished', job_id: jobId, status});
			return status;
		} finally {
			this.#close();
		}
	}

	/**
	 * Starts no more items. Those that run may finish for `drainMs`; all the time they need by default. Another call can only
	 * shorten that.
	 */
	cancel(reason: string, drainMs = Number.POSITIVE_INFINITY): void {
		const {table} = this.#store;
		if (table.status !== 'running' || this.#isFinishing) return;
		if (table.cancelReason === undefined) this.#record({type: 'cancel', at: Date.now(), reason: toReason(reason)});
		if (drainMs === 0) this.#endAll(reason);
		else if (Number.isFinite(drainMs)) this.#drainTimer ??= setTimeout(() => this.#endAll(reason), drainMs);
		this.#wake();
	}

	/** Starts no more items here, without an end of the job: another runner, or a later one, goes on with it. */
	leave(drainMs: number): void {
		if (this.#isLeaving) return;
		this.#isLeaving = true;
		this.#drainTimer ??= setTimeout(() => this.#endAll('the runner ends'), drainMs);
		this.#wake();
	}

	/** Judges a result that was reported, by a worker or over the network. Settles when the answer is on disk. */
	async report(call: ReportCall): Promise<ReportAnswer> {
		const running = this.#running.get(call.itemId);
		if (running) return running.expectReport(this.#reportRunning(running, call));
		const isKnown = await this.#store.hasItem(call.itemId);
		return judgeReport({kind: isKnown ? 'over' : 'unknown'}, call) as ReportAnswer;
	}

	async #reportRunning(running: RunningItem, call: ReportCall): Promise<ReportAnswer> {
		const judged = judgeReport(this.#stateOf(running), call, this.#store.maxResultBytes);
		if (judged.accepted === false) {
			if (judged.reason === 'schema') this.#countSchemaFailure(running, judged.detail);
			return judged;
		}
		const {check} = this.#options;
		const problem = check && (await check(judged.json));
		// The item may have ended during the check, by another report for instance.
		const refused = judgeCaller(this.#stateOf(running), call);
		if (refused) return refused;
		if (problem !== undefined) {
			this.#countSchemaFailure(running, problem);
			return {accepted: false, reason: 'schema', detail: problem};
		}
		await this.#complete(running, call);
		return {accepted: true};
	}

	#stateOf(running: RunningItem): ReportedItem {
		const {item, token} = running.facts;
		const isOver = running.isDecided || this.#store.table.statusOf(item) !== 'running';
		return isOver ? {kind: 'over'} : {kind: 'running', token};
	}

	get store(): JobStore {
		return this.#store;
	}

	/** Starts what can be started, and finishes when nothing is left. */
	#wake(): void {
		const {table, job} = this.#store;
		while (this.#mayStart() && this.#active < job.rules.maxConcurrency) {
			const next = this.#placer.next();
			if (!next) break;
			if (next.kind === 'run') void this.#start(next.item, next.on);
			else void this.#refuse(next.item, next.error);
		}
		if (this.#store.openQueue && this.#mayStart()) this.#pending.want(this.#countFree());
		const isIdle = this.#active === 0 && this.#running.size === 0;
		if (isIdle && (table.counts.pending === 0 || !this.#mayStart())) void this.#finish();
	}

	#mayStart(): boolean {
		const isEnding = this.#isFinishing || this.#isLeaving;
		return this.#fatal === undefined && this.#store.table.cancelReason === undefined && !isEnding;
	}

	#countFree(): number {
		const slots = this.#executors.reduce((sum, each) => sum + each.free, 0);
		return Math.max(0, Math.min(slots, this.#store.job.rules.maxConcurrency - this.#active));
	}

	/** The claim is on disk before anything is started, so that a report can never be too early. */
	async #start(item: number, on: PooledExecutor): Promise<void> {
		const attempt = this.#store.table.attemptsOf(item) + 1;
		const token = randomHex(TOKEN_BYTES);
		on.running++;
		this.#active++;
		try {
			const executor = on.executor.name;
			const claimed = this.#store.append({type: 'claim', at: Date.now(), item, attempt, token, executor});
			const stored = await this.#store.readItem(item);
			const running = this.#enter({item, stored, attempt, token, on});
			await claimed;
			this.#emit({type: 'item.started', item_id: stored.itemId, row_index: item, attempt, executor});
			await this.#attempt(running, this.#store.job.rules.maxRuntimeMs, each => this.#options.worker.run(each));
		} catch (error) {
			this.#crash(error);
		}
	}

	/** Goes on with an attempt that an earlier runner left behind. */
	async #goOn(item: number): Promise<void> {
		// Counted before anything is waited for: the job is not over while this attempt may be running.
		this.#active++;
		try {
			const [stored, claim] = await Promise.all([this.#store.readItem(item), this.#store.readRecord(item)]);
			const {attempt, token, executor, at} = claim as RecordOf<'claim'>;
			const on = this.#executors.find(each => each.executor.name === executor);
			if (!on) {
				await this.#endings.abandon(item, stored, executor);
				this.#active--;
				this.#giveBack(item);
				return;
			}
			on.running++;
			const running = this.#enter({item, stored, attempt, token, on});
			const leftMs = this.#store.job.rules.maxRuntimeMs - Math.max(0, Date.now() - at);
			await this.#attempt(running, Math.max(leftMs, MIN_RECOVERY_MS), () => this.#endings.recover(running));
		} catch (error) {
			this.#crash(error);
		}
	}

	async #attempt(
		running: RunningItem,
		limitMs: number,
		work: (attempt: ItemAttempt) => ReturnType<ItemWorker['run']>,
	): Promise<void> {
		const {maxRuntimeMs} = this.#store.job.rules;
		const error = `worker exceeded max runtime of ${maxRuntimeMs / 1000}s`;
		running.limitTo(limitMs, () => running.decide({kind: 'timeout', error}));
		if (this.#isDraining) running.decide({kind: 'cancelled', error: this.#store.table.cancelReason ?? ''});
		await this.#endings.follow(running, work(this.#toAttempt(running)));
		this.#leave(running);
	}

	/** The first accepted result: state and record change in one step, which throws if the item was settled elsewhere. */
	async #complete(running: RunningItem, {result, stop, exitCode}: ReportCall): Promise<void> {
		const {item, stored, on} = running.facts;
		const ms = running.elapsedMs;
		const written = this.#store.append({
			type: 'report',
			at: Date.now(),
			item,
			result,
			...(stop && {stop: true}),
			executor: on.executor.name,
			ms,
			...(exitCode !== undefined && {code: exitCode}),
		});
		running.isCompleted = true;
		running.endWithin(REPORT_GRACE_MS);
		this.#active--;
		on.running--;
		on.lingering++;
		on.succeed();
		this.#wake();
		await written.catch((error: unknown) => {
			this.#crash(error);
			throw error;
		});
		this.#emit({type: 'item.completed', item_id: stored.itemId, row_index: item, result, duration_ms: ms});
	}

	#countSchemaFailure(running: RunningItem, detail = ''): void {
		if (++running.schemaFailures < MAX_SCHEMA_FAILURES) return;
		running.decide({kind: 'schema', error: `result does not match the schema: ${detail}`});
	}

	/** An item that no executor can take fails without being started. */
	async #refuse(item: number, text: string): Promise<void> {
		const executor = '';
		const error = toReason(text);
		const at = Date.now();
		const attempt = this.#store.table.attemptsOf(item) + 1;
		try {
			void this.#store.append({type: 'claim', at, item, attempt, token: '', executor});
			await this.#store.append({type: 'fail', at, item, kind: 'start', error, executor, ms: 0});
			const {itemId} = await this.#store.readItem(item);
			this.#emit({type: 'item.failed', item_id: itemId, row_index: item, kind: 'start', error, duration_ms: 0});
			this.#wake();
		} catch (failure) {
			this.#crash(failure);
		}
	}

	#enter(facts: AttemptFacts): RunningItem {
		const running = new RunningItem(facts);
		this.#running.set(facts.stored.itemId, running);
		return running;
	}

	#leave(running: RunningItem): void {
		const {item, stored, on} = running.facts;
		running.dispose();
		this.#running.delete(stored.itemId);
		if (running.isCompleted) on.lingering--;
		else {
			on.running--;
			this.#active--;
		}
		this.#giveBack(item);
	}

	#giveBack(item: number): void {
		if (this.#store.table.isPending(item)) this.#pending.giveBack(item);
		this.#wake();
	}

	#toAttempt(running: RunningItem): ItemAttempt {
		const {item, stored, attempt, token, on} = running.facts;
		const {itemId, row} = stored;
		return {
			jobId: this.#store.job.jobId,
			itemId,
			rowIndex: item,
			row,
			attempt,
			token,
			executor: on.executor,
			signal: running.signal,
			report: (result, options = {}) => this.report({itemId, token, result, ...options}),
		};
	}

	#dropSettled(item: number): void {
		const error = 'another attempt has ended the item';
		for (const running of this.#running.values()) {
			if (running.facts.item === item) running.decide({kind: 'cancelled', error});
		}
	}

	#endAll(reason: string): void {
		this.#isDraining = true;
		for (const running of this.#running.values()) running.decide({kind: 'cancelled', error: reason});
	}

	/** The job fails if no executor comes back for long. */
	#watchOutage(): void {
		if (this.#executors.some(each => each.isReady)) {
			clearTimeout(this.#outageTimer);
			this.#outageTimer = undefined;
			return;
		}
		this.#outageTimer ??= setTimeout(() => {
			this.#outageTimer = undefined;
			if (this.#executors.some(each => each.isReady)) return;
			this.#fatal = `no executor was reachable for ${MAX_OUTAGE_MS / 1000}s`;
			this.#endAll(this.#fatal);
			this.#wake();
		}, MAX_OUTAGE_MS);
	}

	async #finish(): Promise<void> {
		if (this.#isFinishing) return;
		this.#isFinishing = true;
		const {counts, cancelReason} = this.#store.table;
		const isCancelled = cancelReason !== undefined;
		const isUndone = counts.pending + counts.running > 0 && this.#fatal === undefined && !isCancelled;
		if (this.#isLeaving && isUndone) return this.#finished.resolve('left');
		const status = this.#fatal === undefined ? (isCancelled ? 'cancelled' : 'completed') : 'failed';
		try {
			if (status === 'completed' && (await this.#store.confirmResults?.()) === false) {
				this.#isFinishing = false;
				return this.#wake();
			}
			const error = this.#fatal;
			await this.#store.append({type: 'done', at: Date.now(), status, ...(error !== undefined && {error})});
			this.#finished.resolve(status);
		} catch (error) {
			this.#crash(error);
		}
	}

	#record(record: Parameters<JobStore['append']>[0]): void {
		try {
			this.#store.append(record).catch((error: unknown) => this.#crash(error));
		} catch (error) {
			this.#crash(error);
		}
	}

	#emit(event: JobEvent): void {
		this.#options.onEvent?.(event);
		if (event.type.startsWith('item.')) this.#progress.touch();
	}

	/** The store cannot be written to: nothing that happens from now on could be recorded. */
	#crash(error: unknown): void {
		this.#fatal ??= errorMessage(error);
		this.#endAll(this.#fatal);
		this.#finished.reject(error);
	}

	#close(): void {
		this.#closed.abort();
		this.#progress.stop();
		clearTimeout(this.#drainTimer);
		clearTimeout(this.#outageTimer);
		for (const each of this.#executors) each.dispose();
	}
}
