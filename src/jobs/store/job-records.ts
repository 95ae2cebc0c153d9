import type {FailureKind} from '../job-description.js';

/** State of a job. Items that failed do not make it fail. */
export type JobStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';
/** Final state of a job. */
export type FinalStatus = Extract<JobStatus, 'completed' | 'failed' | 'cancelled'>;

/** Why a running item went back to the others that wait. */
export type RequeueKind = FailureKind | 'refused' | 'cancelled';

/**
 * A line of the journal: one record is one whole transition. `item` is the number of the row from 0, `at` are
 * milliseconds since 1970.
 */
export type JobRecord =
	/** A runner has begun; also goes on with a job that was cancelled. */
	| {readonly type: 'run'; readonly at: number; readonly retryFailed?: boolean | undefined}
	/** Session at the server of an executor, for the next runner. */
	| {readonly type: 'session'; readonly at: number; readonly executor: string; readonly session: string}
	/** Written before anything is started. */
	| {
			readonly type: 'claim';
			readonly at: number;
			readonly item: number;
			readonly attempt: number;
			readonly token: string;
			readonly executor: string;
	  }
	/** Completes the item; with `stop` it cancels the job, too. */
	| {
			readonly type: 'report';
			readonly at: number;
			readonly item: number;
			readonly result: unknown;
			readonly stop?: true | undefined;
			readonly executor: string;
			readonly ms: number;
			readonly code?: number | undefined;
	  }
	| {
			readonly type: 'fail';
			readonly at: number;
			readonly item: number;
			readonly kind: FailureKind;
			readonly error: string;
			readonly executor: string;
			readonly ms: number;
			readonly code?: number | undefined;
	  }
	| {
			readonly type: 'requeue';
			readonly at: number;
			readonly item: number;
			readonly kind: RequeueKind;
			readonly error: string;
			/** Whether it used up a retry. */
			readonly counts: boolean;
	  }
	| {readonly type: 'cancel'; readonly at: number; readonly reason: string}
	| {readonly type: 'done'; readonly at: number; readonly status: FinalStatus; readonly error?: string | undefined};

/** Record of one type. */
export type RecordOf<T extends JobRecord['type']> = Extract<JobRecord, {readonly type: T}>;
/** Text of a job that a worker has stopped. */
export const STOPPED_BY_WORKER = 'cancelled by worker request';
