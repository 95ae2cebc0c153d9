import {resolve} from 'node:path';
import type {ListedJob} from '../../../jobs/output/job-summary.js';
import {DEFAULT_DRAIN_MS} from '../../../jobs/run-job.js';
import {outputPathForName, shortJobId} from '../../../jobs/store/job-directory.js';
import type {OptionValues} from '../../command-definition.js';
import {writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {parseTimeOption} from '../../common/times.js';
import {formatCounts, formatFailures} from '../fanout/job-lines.js';
import {JOB_EXIT} from '../fanout/job-options.js';
import {followJob, readReporter} from './follow-job.js';
import {JobsClient} from './jobs-client.js';
import {writeItems} from './write-items.js';

/** Characters of a line about a job. */
const MAX_LINE_CHARS = 2000;

export async function showHubJob(given: string, options: OptionValues): Promise<number> {
	const reporter = readReporter(options);
	const client = await JobsClient.open(options);
	const jobId = await client.resolveId(given);
	const followed = options['follow'] === true ? await followJob(client, jobId, reporter) : undefined;
	const listed = followed?.listed ?? (await client.find(jobId));
	if (options['json'] === true) writeJson(listed);
	else writeLines(toLines(listed));
	return followed?.exitCode ?? JOB_EXIT.ok;
}

export async function listHubJobs(options: OptionValues): Promise<number> {
	const jobs = await (await JobsClient.open(options)).list();
	if (options['json'] === true) writeJson(jobs);
	else if (jobs.length === 0) writeLines(['there are no jobs']);
	else writeLines(jobs.map(toLine));
	return JOB_EXIT.ok;
}

/** Both streams of the item, each where it belongs. */
export async function printLogs(given: string, itemId: string, options: OptionValues): Promise<number> {
	const client = await JobsClient.open(options);
	const logs = await client.readLogs(await client.resolveId(given), itemId);
	if (options['json'] === true) {
		writeJson(logs);
		return JOB_EXIT.ok;
	}
	if (logs.stdout !== '') writeLines(linesOf(logs.stdout));
	if (logs.stderr !== '') writeMessage(...linesOf(logs.stderr));
	return JOB_EXIT.ok;
}

export async function exportHubJob(given: string, options: OptionValues): Promise<number> {
	const client = await JobsClient.open(options);
	const jobId = await client.resolveId(given);
	const output = options['output'] as string | undefined;
	const path = resolve(output ?? outputPathForName((await client.find(jobId)).input_path, jobId, 'job'));
	await writeItems(client, jobId, path);
	writeLines([path]);
	return JOB_EXIT.ok;
}

export async function cancelHubJob(given: string, options: OptionValues): Promise<number> {
	const drainMs = parseTimeOption('--drain-timeout', options['drainTimeout'] as string | undefined) ?? DEFAULT_DRAIN_MS;
	const client = await JobsClient.open(options);
	const jobId = await client.resolveId(given);
	await client.cancel(jobId, drainMs);
	writeLines([`job ${shortJobId(jobId)} is being cancelled`]);
	return JOB_EXIT.ok;
}

function linesOf(text: string): string[] {
	return text.replace(/\n$/, '').split('\n');
}

function toLines(job: ListedJob): string[] {
	return [
		toLine(job),
		`input   ${job.input_path}`,
		...(job.job_error === null ? [] : [`error   ${job.job_error}`]),
		...formatFailures(job),
	].map(line => shorten(line));
}

/** Texts of other machines and of the hub are for people here; JSON has all of them. */
function shorten(line: string): string {
	return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS)}...`;
}

function toLine(job: ListedJob): string {
	const stall = job.stalled_seconds === undefined ? '' : `, stalled: no result for ${job.stalled_seconds} s`;
	return `${shortJobId(job.job_id)}  ${job.status.padEnd(9)}  ${job.created_at}  ${formatCounts(job)}${stall}`;
}
