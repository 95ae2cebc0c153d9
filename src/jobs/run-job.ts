import {randomUUID} from 'node:crypto';
import {resolve} from 'node:path';
import {onAbort} from '../shared/async/on-abort.js';
import {errorMessage} from '../shared/errors.js';
import type {JobEvent} from './engine/job-events.js';
import {JobRunner} from './engine/job-runner.js';
import {compileSchema} from './engine/result-schema.js';
import {openRows} from './input/row-source.js';
import type {ItemWorker, JobExecutor} from './item-worker.js';
import {DEFAULT_RULES, type DescribedExecutor, JOB_FORMAT, type JobRules} from './job-description.js';
import {type ExportOptions, exportJob} from './output/export-job.js';
import {type JobSummary, summarizeJob} from './output/job-summary.js';
import {Snapshots} from './output/snapshots.js';
import {DirectoryStore} from './store/directory-store.js';
import {defaultJobsDirectory, defaultOutputPath} from './store/job-directory.js';
import type {JobStore} from './store/job-store.js';

/** Time that running items have to finish when a job is cancelled from outside. */
export const DEFAULT_DRAIN_MS = 10_000;

/** Characters of the id of a session that is recorded; ours have 36. */
const MAX_SESSION_CHARS = 256;

/** Options of `createJob`. */
export interface CreateJobOptions {
	/** Path of the CSV or JSON lines file; `-` is standard input, as JSON lines. */
	readonly input: string;
	readonly idColumn?: string | undefined;
	/** Beside the input by default. */
	readonly output?: string | undefined;
	/** Part of the default name of the output; `fanout` by default. */
	readonly outputInfix?: string | undefined;
	readonly rules?: Partial<JobRules> | undefined;
	/** Facts for the worker to go on with the job later; becomes JSON. */
	readonly work?: unknown;
	readonly executors?: readonly DescribedExecutor[] | undefined;
	/** Directory of all jobs; in the user's directory for state by default. */
	readonly jobsDirectory?: string | undefined;
}

/**
 * Reads the input and creates a job of it, which is not running yet. Throws a `JobInputError`, and leaves nothing behind,
 * for an input that cannot be used.
 */
export async function createJob(options: CreateJobOptions): Promise<DirectoryStore> {
	const {input, idColumn, work = null, executors = [], jobsDirectory = defaultJobsDirectory()} = options;
	const rules = {...DEFAULT_RULES, ...options.rules};
	if (rules.schema !== undefined) await compileSchema(rules.schema);
	const jobId = randomUUID();
	const outputPath = resolve(options.output ?? defaultOutputPath(input, jobId, options.outputInfix));
	return DirectoryStore.create(
		jobsDirectory,
		{
			format: JOB_FORMAT,
			jobId,
			createdAtMs: Date.now(),
			inputPath: input === '-' ? input : resolve(input),
			...(idColumn !== undefined && {idColumn}),
			outputPath,
			rules,
			work,
			executors,
		},
		await openRows(input),
	);
}

/** Options of `runJob`. */
export interface RunJobOptions {
	/** A job that was created, or opened to be run; it stays open. */
	readonly store: JobStore;
	readonly worker: ItemWorker;
	readonly executors: readonly JobExecutor[];
	/** Cancels the job. */
	readonly signal?: AbortSignal | undefined;
	/** Time for running items after that; ten seconds by default. */
	readonly drainMs?: number | undefined;
	readonly onEvent?: ((event: JobEvent) => void) | undefined;
	/** Called with the runner before it begins, for reports and cancellation from elsewhere. */
	readonly onRunner?: ((runner: JobRunner) => void) | undefined;
	/** Failed items are tried again. */
	readonly retryFailed?: boolean | undefined;
	/** Columns of the output; false writes none. */
	readonly output?: ExportOptions | false | undefined;
}

/** Runs a job to its end and writes its output. Settles with the summary, whatever became of the items. */
export async function runJob(options: RunJobOptions): Promise<JobSummary> {
	const {store, worker, executors, signal, drainMs = DEFAULT_DRAIN_MS, output = {}} = options;
	const {schema} = store.job.rules;
	const check = schema === undefined ? undefined : await compileSchema(schema);
	const runner = new JobRunner({
		store,
		worker,
		executors,
		check,
		onEvent: options.onEvent,
		retryFailed: options.retryFailed,
	});
	options.onRunner?.(runner);
	recordSessions(store, executors);
	if (output === false) {
		await runToEnd(runner, signal, drainMs);
		return summarizeJob(store);
	}
	{
		// Closed before the output of the end is written, which no snapshot may replace.
		await using _snapshots = new Snapshots(store, store.job.outputPath, output);
		await runToEnd(runner, signal, drainMs);
	}
	return exportAndSummarize(store, output);
}

async function runToEnd(runner: JobRunner, signal: AbortSignal | undefined, drainMs: number): Promise<void> {
	const running = runner.run();
	// A signal that is aborted already counts, too: the job runs as soon as `run` is called.
	const stopListening = onAbort(signal, reason => runner.cancel(`cancelled: ${errorMessage(reason)}`, drainMs));
	try {
		await running;
	} finally {
		stopListening();
	}
}

/** An output that cannot be written makes the job fail: its results are in the journal only. */
async function exportAndSummarize(store: JobStore, output: ExportOptions): Promise<JobSummary> {
	try {
		await exportJob(store, store.job.outputPath, output);
		return await summarizeJob(store);
	} catch (error) {
		const summary = await summarizeJob(store);
		return {...summary, status: 'failed', job_error: `auto-export failed: ${errorMessage(error)}`};
	}
}

/** A later runner resumes the sessions, with the processes in them. */
function recordSessions(store: JobStore, executors: readonly JobExecutor[]): void {
	for (const executor of executors) if (executor.environment.kind === 'remote') void recordSession(store, executor);
}

async function recordSession(store: JobStore, {name, environment}: JobExecutor): Promise<void> {
	try {
		const session = await environment.sessionId();
		if (session === undefined || session.length > MAX_SESSION_CHARS || store.table.sessions.get(name) === session)
			return;
		await store.append({type: 'session', at: Date.now(), executor: name, session});
	} catch {
		// The first item on it fails for the same reason, and says so.
	}
}
