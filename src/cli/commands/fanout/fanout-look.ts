import {join, resolve} from 'node:path';
import {exportJob} from '../../../jobs/output/export-job.js';
import {describeJob} from '../../../jobs/output/job-summary.js';
import {DirectoryStore} from '../../../jobs/store/directory-store.js';
import {findJobId, JOB_FILES, listJobIds, shortJobId} from '../../../jobs/store/job-directory.js';
import {findLockHolder} from '../../../jobs/store/job-lock.js';
import {errorMessage} from '../../../shared/errors.js';
import type {OptionValues} from '../../command-definition.js';
import {writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {formatCounts, formatFailures} from './job-lines.js';
import {JOB_EXIT} from './job-options.js';
import {jobsDirectoryOf} from './run-stored-job.js';

/** Prints how far a job is, and whether somebody runs it. */
export async function showStatus(given: string, options: OptionValues): Promise<number> {
	const jobs = jobsDirectoryOf(options);
	await using store = await DirectoryStore.open(jobs, findJobId(jobs, given), 'look');
	const described = await describe(store);
	if (options['json'] === true) writeJson(described);
	else writeLines(toLines(described));
	return JOB_EXIT.ok;
}

/** Writes the output of a job as it is now. */
export async function exportFanout(given: string, options: OptionValues): Promise<number> {
	const jobs = jobsDirectoryOf(options);
	await using store = await DirectoryStore.open(jobs, findJobId(jobs, given), 'look');
	const path = resolve((options['output'] as string | undefined) ?? store.job.outputPath);
	await exportJob(store, path, {strictColumns: options['strictColumns'] === true});
	writeLines([path]);
	return JOB_EXIT.ok;
}

/** Prints all jobs, the oldest first. */
export async function listFanouts(options: OptionValues): Promise<number> {
	const jobs = jobsDirectoryOf(options);
	const described: Described[] = [];
	let isFailed = false;
	for (const id of listJobIds(jobs)) {
		try {
			await using store = await DirectoryStore.open(jobs, id, 'look');
			described.push(await describe(store));
		} catch (error) {
			isFailed = true;
			writeMessage(`error: ${shortJobId(id)}: ${errorMessage(error)}`);
		}
	}
	described.sort((one, other) => one.created_at.localeCompare(other.created_at));
	if (options['json'] === true) writeJson(described);
	else if (described.length === 0) writeLines(['there are no jobs']);
	else writeLines(described.map(toLine));
	return isFailed ? JOB_EXIT.failed : JOB_EXIT.ok;
}

type Described = Awaited<ReturnType<typeof describe>>;

async function describe(store: DirectoryStore) {
	const holder = findLockHolder(join(store.directory, JOB_FILES.lock));
	return {...(await describeJob(store)), runner_pid: holder?.pid ?? null};
}

function toLines(job: Described): string[] {
	return [
		toLine(job),
		`input   ${job.input_path}`,
		`output  ${job.output_csv_path}`,
		...(job.job_error === null ? [] : [`error   ${job.job_error}`]),
		...formatFailures(job),
	];
}

function toLine(job: Described): string {
	const isAbandoned = job.status === 'running' && job.runner_pid === null;
	const state = isAbandoned ? 'interrupted' : job.status;
	return `${shortJobId(job.job_id)}  ${state.padEnd(11)}  ${formatCounts(job)}`;
}
