import {isatty} from 'node:tty';
import {ReportServer} from '../../../jobs/command/report-server.js';
import type {JobRunner} from '../../../jobs/engine/job-runner.js';
import {JobInputError} from '../../../jobs/input/job-input-error.js';
import type {JobSummary} from '../../../jobs/output/job-summary.js';
import {DEFAULT_DRAIN_MS, runJob} from '../../../jobs/run-job.js';
import type {DirectoryStore} from '../../../jobs/store/directory-store.js';
import {defaultJobsDirectory} from '../../../jobs/store/job-directory.js';
import {formatDuration} from '../../../shared/units.js';
import type {OptionValues} from '../../command-definition.js';
import {writeJson, writeLines} from '../../common/messages.js';
import {parseTimeOption} from '../../common/times.js';
import {usageError} from '../../exit-codes.js';
import {readWord} from './fanout-settings.js';
import {openExecutors} from './job-executors.js';
import {formatResume, formatSummary} from './job-lines.js';
import {JOB_EXIT} from './job-options.js';
import {JobReporter, PROGRESS_FORMS} from './job-progress.js';
import {openWorker} from './job-worker.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const STDOUT = 1;

/** Options of every command that runs a job, read before anything is done. */
export interface RunSettings {
	readonly jobsDirectory: string;
	readonly drainMs: number;
	readonly strictColumns: boolean;
	readonly reporter: JobReporter;
	/** Prints the summary, and tells how to go on with what was not done. */
	readonly finish: (summary: JobSummary) => void;
}

export function readRunSettings(options: OptionValues): RunSettings {
	const reporter = new JobReporter(readWord(options['progress'], '--progress', PROGRESS_FORMS));
	return {
		jobsDirectory: jobsDirectoryOf(options),
		drainMs: parseTimeOption('--drain-timeout', options['drainTimeout'] as string | undefined) ?? DEFAULT_DRAIN_MS,
		strictColumns: options['strictColumns'] === true,
		reporter,
		finish: summary => {
			reporter.end();
			writeSummary(summary, options);
			const resume = formatResume(summary, options);
			if (resume !== undefined && (summary.status !== 'completed' || isForPeople(options))) reporter.say(resume);
		},
	};
}

/** Writes how a job ended to stdout: JSON for programs, lines for people. */
export function writeSummary(summary: JobSummary, options: OptionValues): void {
	if (isForPeople(options)) writeLines(formatSummary(summary));
	else writeJson(summary);
}

function isForPeople(options: OptionValues): boolean {
	return options['json'] !== true && isatty(STDOUT);
}

export function jobsDirectoryOf(options: OptionValues): string {
	return (options['jobDir'] as string | undefined) ?? defaultJobsDirectory();
}

/** Runs a job that is stored, prints its summary, and closes it; settles with the exit code. */
export async function runStoredJob(
	store: DirectoryStore,
	{reporter, drainMs, strictColumns, finish}: RunSettings,
	retryFailed = false,
): Promise<number> {
	await using server = await ReportServer.listen(store.job.jobId);
	store.lock?.announce(server.url, server.secret);
	const opened = await openWorker(store, reporter, `${server.url}/report`);
	const executors = await openExecutors(store.job.executors, store.table.sessions);
	using signals = new JobSignals(drainMs, reporter);
	try {
		const summary = await runJob({
			store,
			worker: opened.worker,
			executors,
			onEvent: reporter.tell,
			onRunner: runner => {
				server.serve(runner);
				signals.control(runner);
			},
			retryFailed,
			output: {strictColumns},
		});
		finish(summary);
		return exitCodeOf(summary);
	} finally {
		await opened.dispose();
		await Promise.allSettled(executors.map(({environment}) => environment.close()));
		await store.close();
	}
}

/** Runs work on an input; one that cannot be used is a mistake of the caller. */
export async function refuseBadInput<T>(work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof JobInputError) throw usageError(error.message, error);
		throw error;
	}
}

/** Exit code of a command that has waited for a job. */
export function exitCodeOf({status, failed_items: failed}: JobSummary): number {
	if (status === 'failed') return JOB_EXIT.failed;
	if (status === 'cancelled') return JOB_EXIT.cancelled;
	return failed > 0 ? JOB_EXIT.itemsFailed : JOB_EXIT.ok;
}

/** Ctrl-C and its like cancel the job; a second one ends running items at once, a third one the program. */
class JobSignals implements Disposable {
	readonly #drainMs: number;
	readonly #reporter: JobReporter;
	#runner: JobRunner | undefined;
	#count = 0;
	readonly #listener = (signal: NodeJS.Signals): void => {
		this.#count++;
		if (this.#count > 2 || !this.#runner) process.exit(JOB_EXIT.cancelled);
		const isFirst = this.#count === 1;
		this.#runner.cancel(`cancelled by ${signal}`, isFirst ? this.#drainMs : 0);
		const running = `running items have ${formatDuration(this.#drainMs)} to finish`;
		if (isFirst && signal === 'SIGINT') this.#reporter.say(`cancelling: ${running}; Ctrl-C again ends them now`);
	};

	constructor(drainMs: number, reporter: JobReporter) {
		this.#drainMs = drainMs;
		this.#reporter = reporter;
		for (const signal of SIGNALS) process.on(signal, this.#listener);
	}

	control(runner: JobRunner): void {
		this.#runner = runner;
	}

	[Symbol.dispose](): void {
		for (const signal of SIGNALS) process.off(signal, this.#listener);
	}
}
