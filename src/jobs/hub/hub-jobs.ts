import type {KeptLogs} from '../command/attempt-logs.js';
import type {CommandSpec} from '../command/command-spec.js';
import {JobInputError} from '../input/job-input-error.js';
import type {InputFormat, RowLimits} from '../input/row-source.js';
import type {ItemWorker, JobExecutor} from '../item-worker.js';
import type {DescribedExecutor, JobDescription, JobRules} from '../job-description.js';
import type {ListedJob} from '../output/job-summary.js';
import type {JobScope} from './job-scope.js';

/** Jobs of all tenants that one hub runs at once, half of them of one tenant and a quarter with one token; more wait. */
export const MAX_ACTIVE_JOBS = 256;
/** Jobs of one tenant that a hub keeps. */
export const MAX_KEPT_JOBS = 10_000;
/** Bounds of the rows of a job: a row is read at once, and some 20 bytes of each stay in memory. */
export const HUB_ROW_LIMITS: RowLimits = {maxRowBytes: 1024 * 1024, maxRows: 1_000_000};
/** A finished job is kept for so long. */
export const KEPT_MS = 7 * 24 * 3_600_000;

/** The share of a token in the jobs that are kept is used up. */
export function tooManyKept(): JobInputError {
	return new JobInputError(`a hub keeps ${MAX_KEPT_JOBS} jobs of a tenant, and no token may have more than are left`);
}

/** The client that a job works for, with the rights of the token it came with. */
export interface JobOwner {
	/** Id of the token. */
	readonly token: string;
	/** Environments that the token is good for. */
	readonly pattern: string;
}

/** Work of a job that a hub runs. */
export interface HubWork {
	readonly command: CommandSpec;
	readonly owner: JobOwner;
}

/** A job as a client submits it, without its rows. */
export interface SubmittedJob {
	readonly inputName: string;
	readonly inputFormat: InputFormat;
	readonly idColumn?: string | undefined;
	readonly rules: JobRules;
	readonly work: HubWork;
	readonly executors: readonly DescribedExecutor[];
}

/** Output of the last attempt at an item that was kept. */
export interface ItemLogs {
	readonly item_id: string;
	readonly attempt: number;
	readonly stdout: string;
	readonly stderr: string;
}

/** Time that running items have when their job is cancelled, and why it is. */
export interface CancelRequest {
	readonly reason: string;
	readonly drainMs: number;
}

/** Form of the items of a job. */
export type ItemsForm = 'csv' | 'jsonl';

/** Jobs of a hub, each of one tenant. Calls with the id of another tenant's job know nothing of it. */
export interface HubJobs {
	/** Settles with the id when the job is durable. Throws a `JobInputError` for rows that cannot be used. */
	submit(tenant: string, job: SubmittedJob, rows: AsyncIterable<Uint8Array>): Promise<string>;
	/** The oldest first. */
	list(tenant: string): Promise<readonly ListedJob[]>;
	/** Undefined if there is no such job. */
	find(tenant: string, jobId: string): Promise<ListedJob | undefined>;
	/** Machines that it may use, and its owner; undefined if there is no such job. */
	findScope(tenant: string, jobId: string): Promise<JobScope | undefined>;
	/** Lines of its output so far, in row order; undefined if there is no such job. */
	readItems(tenant: string, jobId: string, form: ItemsForm): Promise<AsyncIterable<string> | undefined>;
	/** Undefined if there is no such job or item, or nothing was kept of it. */
	readLogs(tenant: string, jobId: string, itemId: string): Promise<ItemLogs | undefined>;
	/** False if there is no such job. One that has ended stays as it is. */
	cancel(tenant: string, jobId: string, request: CancelRequest): Promise<boolean>;
	/** Runs nothing any more; jobs that are not finished go on elsewhere, or at the next start. */
	close(): Promise<void>;
}

/** A worker of a job with its executors. */
export interface OpenedWork {
	readonly worker: ItemWorker;
	readonly executors: readonly JobExecutor[];
	dispose(): Promise<void>;
}

/** Opens the work of a job on the executors of its tenant. */
export type OpenWork = (request: {
	readonly tenant: string;
	readonly job: JobDescription;
	/** Directory of the job on this machine, which may be gone later. */
	readonly directory: string;
	readonly logs?: KeptLogs | undefined;
}) => Promise<OpenedWork>;
