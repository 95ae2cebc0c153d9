import type {JobDescription} from '../job-description.js';
import type {JobSummary} from '../output/job-summary.js';
import type {FinalStatus} from '../store/job-records.js';
import type {StoredRows} from './job-inputs.js';

/** A job in the streams: everything about it that never changes. */
export interface SharedJob {
	readonly job: JobDescription;
	readonly rows: StoredRows;
	/** Part of the subjects of its items. */
	readonly pool: string;
}

/**
 * Record about a job as a whole, in the order of the stream. `drainMs` is the time that running items have left; null is all
 * they need.
 */
export type ControlRecord =
	| ({readonly type: 'create'} & SharedJob)
	| {readonly type: 'cancel'; readonly at: number; readonly reason: string; readonly drainMs: number | null}
	| {
			readonly type: 'done';
			readonly at: number;
			readonly status: FinalStatus;
			readonly error?: string | undefined;
			readonly summary: JobSummary;
	  };

/** Members of the header of a result, so that its body need not be read. */
export const RESULT_HEADERS = {status: 'La-Status', attempt: 'La-Attempt', stop: 'La-Stop'} as const;
