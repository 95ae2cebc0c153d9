import type {JobStatus} from '../store/job-records.js';
import type {JobStore} from '../store/job-store.js';

/** Failed items that a summary names. */
const MAX_NAMED_FAILURES = 5;
const NO_DETAILS = 'agent job has failed items but no error details were recorded';

/** A failed item of a summary. */
export interface NamedFailure {
	readonly item_id: string;
	readonly source_id: string | null;
	readonly last_error: string;
}

/** How a job ended, or how far it is. */
export interface JobSummary {
	readonly job_id: string;
	readonly status: JobStatus;
	readonly output_csv_path: string;
	readonly total_items: number;
	readonly completed_items: number;
	readonly failed_items: number;
	/** Items of a cancelled job that were not done. */
	readonly cancelled_items: number;
	readonly job_error: string | null;
	/** The first failed items by row; null if none failed. */
	readonly failed_item_errors: readonly NamedFailure[] | null;
}

/** A job in a list. */
export interface ListedJob extends JobSummary {
	readonly pending_items: number;
	readonly running_items: number;
	readonly input_path: string;
	readonly created_at: string;
	/** Seconds since its last result, if the job is stalled: no results come, and no item runs that could bring one. */
	readonly stalled_seconds?: number;
}

/** How far a job is. */
export async function describeJob(store: JobStore): Promise<ListedJob> {
	const {job, table} = store;
	// The open items of a cancelled job are counted as cancelled: each item is in one count.
	const {pending, running} = table.status === 'cancelled' ? {pending: 0, running: 0} : table.counts;
	return {
		...(await summarizeJob(store)),
		pending_items: pending,
		running_items: running,
		input_path: job.inputPath,
		created_at: new Date(job.createdAtMs).toISOString(),
	};
}

/** How a job went, and the first items that failed. */
export async function summarizeJob(store: JobStore): Promise<JobSummary> {
	const {job, table} = store;
	const {pending, running, completed, failed} = table.counts;
	const errors = await readFailures(store);
	const hasNoDetails = failed > 0 && errors.length === 0;
	return {
		job_id: job.jobId,
		status: table.status,
		output_csv_path: job.outputPath,
		total_items: table.total,
		completed_items: completed,
		failed_items: failed,
		cancelled_items: table.status === 'cancelled' ? pending + running : 0,
		job_error: table.error ?? table.cancelReason ?? (hasNoDetails ? NO_DETAILS : null),
		failed_item_errors: errors.length === 0 ? null : errors,
	};
}

async function readFailures(store: JobStore): Promise<NamedFailure[]> {
	const failures: NamedFailure[] = [];
	for (const item of store.table.itemsIn('failed')) {
		if (failures.length === MAX_NAMED_FAILURES) break;
		const [stored, record] = await Promise.all([store.readItem(item), store.readRecord(item)]);
		if (record?.type !== 'fail' || record.error === '') continue;
		failures.push({item_id: stored.itemId, source_id: stored.sourceId, last_error: record.error});
	}
	return failures;
}
