import type {FailureKind} from '../job-description.js';
import type {FinalStatus, RequeueKind} from '../store/job-records.js';

/** Figures of a job that is running. */
export interface JobProgress {
	readonly job_id: string;
	readonly total_items: number;
	readonly pending_items: number;
	readonly running_items: number;
	readonly completed_items: number;
	readonly failed_items: number;
	/** Null until an item is done. */
	readonly eta_seconds: number | null;
	readonly elapsed_ms: number;
	/** Items per second since the runner began. */
	readonly rate: number;
}

/** Event of a job. */
export type JobEvent =
	| {readonly type: 'job.started'; readonly job_id: string; readonly total_items: number}
	| {
			readonly type: 'item.started';
			readonly item_id: string;
			readonly row_index: number;
			readonly attempt: number;
			readonly executor: string;
	  }
	| {
			readonly type: 'item.output';
			readonly item_id: string;
			readonly row_index: number;
			readonly stream: 'stdout' | 'stderr';
			readonly text: string;
	  }
	| {
			readonly type: 'item.completed';
			readonly item_id: string;
			readonly row_index: number;
			readonly result: unknown;
			readonly duration_ms: number;
	  }
	| {
			readonly type: 'item.failed';
			readonly item_id: string;
			readonly row_index: number;
			readonly kind: FailureKind;
			readonly error: string;
			readonly duration_ms: number;
	  }
	| {
			readonly type: 'item.requeued';
			readonly item_id: string;
			readonly row_index: number;
			readonly kind: RequeueKind;
			readonly error: string;
	  }
	| ({readonly type: 'job.progress'} & JobProgress)
	| {readonly type: 'job.finished'; readonly job_id: string; readonly status: FinalStatus};
