import type {InputFormat} from './input/row-source.js';

/** Version of the files of a job. */
export const JOB_FORMAT = 1;
/** Rows one job can have: item numbers are unsigned and of 32 bits. */
export const MAX_ITEMS = 2 ** 32 - 1;
export const DEFAULT_CONCURRENCY = 16;
export const DEFAULT_MAX_RUNTIME_MS = 1_800_000;

/** Kinds of failure that may be tried again. */
export const RETRY_REASONS = ['lost', 'timeout', 'exit', 'schema', 'start', 'model'] as const;
/** Kind of failure of an attempt. */
export type FailureKind = (typeof RETRY_REASONS)[number];

/** Choice of an executor for an item; of `column` it is the one that the row names. */
export type Placement =
	| {readonly kind: 'least-busy'}
	| {readonly kind: 'round-robin'}
	| {readonly kind: 'column'; readonly column: string};

/** Rules of a job that hold for every kind of worker. */
export interface JobRules {
	/** Items that run at once, within the slots of the executors. */
	readonly maxConcurrency: number;
	/** Time limit of one attempt. */
	readonly maxRuntimeMs: number;
	/** Further attempts at an item whose attempt failed for one of the reasons of `retryOn`. */
	readonly retries: number;
	readonly retryOn: readonly FailureKind[];
	/** Whether an attempt that was lost, with the runner or an executor, uses up one of the retries. */
	readonly countLost: boolean;
	/** The job is cancelled when so many items have failed. */
	readonly maxFailures?: number | undefined;
	readonly placement: Placement;
	/** JSON Schema that results have to match. */
	readonly schema?: unknown;
	/** Time an unreachable executor may go on with an attempt; until then no other one gets the item. */
	readonly leaseMs: number;
}

/** The rules of a job without any wishes. */
export const DEFAULT_RULES: JobRules = {
	maxConcurrency: DEFAULT_CONCURRENCY,
	maxRuntimeMs: DEFAULT_MAX_RUNTIME_MS,
	retries: 0,
	retryOn: ['lost'],
	countLost: false,
	placement: {kind: 'least-busy'},
	leaseMs: 60_000,
};

/** An executor as it is written down; `where` is a name or an address without secrets. */
export interface DescribedExecutor {
	readonly name: string;
	readonly where: string;
	readonly slots: number;
	readonly cwd?: string | undefined;
}

/** Everything about a job that never changes. */
export interface JobDescription {
	readonly format: typeof JOB_FORMAT;
	readonly jobId: string;
	readonly createdAtMs: number;
	readonly inputPath: string;
	readonly inputFormat: InputFormat;
	/** SHA-256 of the input. */
	readonly inputHash: string;
	/** Columns of the input, in their order. */
	readonly headers: readonly string[];
	readonly idColumn?: string | undefined;
	readonly totalItems: number;
	readonly outputPath: string;
	readonly rules: JobRules;
	/** Facts for its worker to go on with it later; of no concern to the engine. */
	readonly work: unknown;
	readonly executors: readonly DescribedExecutor[];
}
