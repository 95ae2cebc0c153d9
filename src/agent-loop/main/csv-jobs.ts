import {ToolFailure} from '../../agent-tools/tool-failures.js';
import type {Environment} from '../../environments/environment.js';
import type {JobEvent} from '../../jobs/engine/job-events.js';
import {JobInputError} from '../../jobs/input/job-input-error.js';
import {Template} from '../../jobs/input/template.js';
import type {JobExecutor} from '../../jobs/item-worker.js';
import type {DescribedExecutor} from '../../jobs/job-description.js';
import type {JobSummary} from '../../jobs/output/job-summary.js';
import {createJob, runJob} from '../../jobs/run-job.js';
import type {DirectoryStore} from '../../jobs/store/directory-store.js';
import {errorMessage} from '../../shared/errors.js';
import {AgentWorker, type AgentWorkerOptions} from '../worker/agent-worker.js';
import {type CsvFiles, openCsvFiles} from './csv-files.js';
import type {CsvJobRequest} from './spawn-arguments.js';

export interface CsvJobsOptions {
	/** Model and rules of the workers. */
	readonly worker: Omit<AgentWorkerOptions, 'renderInstruction' | 'schema'>;
	/** Machine of the files, and the directory that relative paths start at. */
	readonly environment: Environment;
	readonly cwd?: string | undefined;
	/** Machines of the workers. */
	readonly executors: readonly JobExecutor[];
	/** The same for a later runner of a job. */
	readonly described: readonly DescribedExecutor[];
	/** Directory of all jobs; in the user's directory for state by default. */
	readonly jobsDirectory?: string | undefined;
	/** Description of the work for a later runner of the same job. */
	readonly describeWork?: ((instruction: string) => unknown) | undefined;
	readonly onEvent?: ((event: JobEvent) => void) | undefined;
}

/** Runs a job of agents over the rows of a CSV file, to its end. Throws a `ToolFailure` if it cannot be begun. */
export async function runCsvJob(
	options: CsvJobsOptions,
	request: CsvJobRequest,
	signal: AbortSignal,
): Promise<JobSummary> {
	await using files = await openCsvFiles(options.environment, options.cwd, request);
	await using store = await createCsvJob(options, request, files);
	const template = new Template(request.instruction, {columns: store.job.headers, unknown: 'keep'});
	const worker = new AgentWorker({
		...options.worker,
		schema: request.schema,
		renderInstruction: attempt => template.render(attempt),
	});
	const {executors, onEvent} = options;
	// Without time for running items: a turn that was interrupted is over.
	const running = {store, worker, executors, signal, drainMs: 0, onEvent, output: {strictColumns: true}};
	const summary = await runJob(running);
	try {
		return {...summary, output_csv_path: await files.publish(summary.output_csv_path, summary.job_id)};
	} catch (error) {
		return {...summary, status: 'failed', job_error: `auto-export failed: ${errorMessage(error)}`};
	}
}

async function createCsvJob(
	{jobsDirectory, described, describeWork}: CsvJobsOptions,
	request: CsvJobRequest,
	{input, output, outputInfix}: CsvFiles,
): Promise<DirectoryStore> {
	const {idColumn, maxConcurrency, maxRuntimeMs, schema} = request;
	try {
		return await createJob({
			input,
			idColumn,
			output,
			outputInfix,
			rules: {maxConcurrency, maxRuntimeMs, ...(schema && {schema})},
			work: describeWork?.(request.instruction) ?? null,
			executors: described,
			jobsDirectory,
		});
	} catch (error) {
		if (error instanceof JobInputError) throw new ToolFailure(error.message);
		throw error;
	}
}
