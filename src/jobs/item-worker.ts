import type {Environment} from '../environments/environment.js';

/** A machine that runs items of a job. */
export interface JobExecutor {
	readonly name: string;
	readonly environment: Environment;
	/** Items it runs at once. */
	readonly slots: number;
	/** Working directory of its items; its own by default. */
	readonly cwd?: string | undefined;
}

/** One row of the input; the members are the columns, in their order. */
export type ItemRow = Readonly<Record<string, unknown>>;

/** Why a result was not accepted. */
export type RejectReason = 'unknown_item' | 'not_running' | 'wrong_worker' | 'not_an_object' | 'schema';

/** Answer to a report. */
export type ReportAnswer =
	| {readonly accepted: true}
	/** `detail` says which part of the schema is violated. */
	| {readonly accepted: false; readonly reason: RejectReason; readonly detail?: string | undefined};

/** Options of a report. */
export interface ReportOptions {
	/** Cancels the job with the same record that completes the item. */
	readonly stop?: boolean | undefined;
	/** Exit code of the worker, if it is a command that has ended. */
	readonly exitCode?: number | undefined;
}

/** One attempt at one item, as its worker sees it. */
export interface ItemAttempt {
	readonly jobId: string;
	readonly itemId: string;
	/** Counts from 0. */
	readonly rowIndex: number;
	readonly row: ItemRow;
	/** Counts from 1. */
	readonly attempt: number;
	/** Secret of this attempt, which a report has to bring along. */
	readonly token: string;
	readonly executor: JobExecutor;
	/** Aborted when the attempt has to end: time limit, cancelled job, or some time after its result was accepted. */
	readonly signal: AbortSignal;
	/** Settles when the answer is on disk. The first accepted result wins. */
	report(result: unknown, options?: ReportOptions): Promise<ReportAnswer>;
}

/** How an attempt ended. Its result, if there is one, was reported before. */
export type AttemptOutcome =
	| {readonly kind: 'reported'; readonly exitCode?: number | undefined}
	/** It ended without a result that was accepted; `error` replaces the text for that. */
	| {readonly kind: 'unreported'; readonly exitCode?: number | undefined; readonly error?: string | undefined}
	| {
			readonly kind: 'failed';
			/**
			 * `exit`: it failed by itself. `start`: it cannot be started. `refused`: the executor takes no more at the moment.
			 * `lost`: the connection to it was lost, so it may still be running. `model`: the model endpoint failed.
			 */
			readonly reason: 'exit' | 'start' | 'refused' | 'lost' | 'model' | 'schema';
			readonly error: string;
			readonly exitCode?: number | undefined;
	  };

/** Does the work of items: runs a command for each, or an agent. */
export interface ItemWorker {
	/** Settles when nothing of the attempt is running any more, or with `lost` if that is not known. */
	run(attempt: ItemAttempt): Promise<AttemptOutcome>;
	/**
	 * Goes on with an attempt of an earlier runner, or of a lost connection: waits for its end, or finds the result it
	 * left. `over` if nothing of it runs any more and it left nothing. Without this member every such attempt is over.
	 */
	recover?(attempt: ItemAttempt): Promise<AttemptOutcome | 'over'>;
}
