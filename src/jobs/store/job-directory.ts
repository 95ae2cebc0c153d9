import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {basename, dirname, extname, join, resolve} from 'node:path';
import {LongarmError} from '../../shared/errors.js';
import {stateHome} from '../../shared/node/state-home.js';
import {JOB_FORMAT, type JobDescription} from '../job-description.js';

/** Shortest beginning of an id that stands for it. */
const MIN_PREFIX = 4;
const SHORT_ID = 8;
/** Characters of the name of an input in that of an output. */
const MAX_STEM_CHARS = 100;
const JOB_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Files of a job. */
export const JOB_FILES = {
	description: 'job.json',
	items: 'items.jsonl',
	journal: 'journal.jsonl',
	lock: 'lock',
	logs: 'logs',
	reports: 'reports',
	places: 'places.jsonl',
} as const;

/** Directory with one directory per job: `fanout` in the user's directory for state. */
export function defaultJobsDirectory(variables: Readonly<Record<string, string | undefined>> = process.env): string {
	const home = stateHome(variables);
	if (home !== undefined) return join(home, 'fanout');
	throw new LongarmError('JOB_UNUSABLE', {message: 'there is no home directory to keep jobs in; give --job-dir'});
}

/** First characters of a job id, for people. */
export function shortJobId(jobId: string): string {
	return jobId.slice(0, SHORT_ID);
}

/** `<stem>.fanout-<job>.csv` beside the input, with another infix for other kinds of jobs. */
export function defaultOutputPath(inputPath: string, jobId: string, infix = 'fanout'): string {
	const isStdin = inputPath === '-';
	const stem = isStdin ? 'stdin' : basename(inputPath, extname(inputPath));
	return join(isStdin ? resolve('.') : dirname(resolve(inputPath)), `${stem}.${infix}-${shortJobId(jobId)}.csv`);
}

/** The same in the present directory, for the name that somebody else gave the input: only letters, digits, `.`, `_` and `-` of it. */
export function outputPathForName(inputName: string, jobId: string, infix: string): string {
	const name = inputName === '-' ? 'stdin' : inputName.slice(inputName.search(/[^/\\]*$/));
	const stem = basename(name, extname(name))
		.replaceAll(/[^\w.-]/g, '_')
		.replace(/^[.-]+/, '')
		.slice(0, MAX_STEM_CHARS);
	return resolve(`${stem || 'job'}.${infix}-${shortJobId(jobId)}.csv`);
}

/** Ids of all jobs in a directory. */
export function listJobIds(directory: string): string[] {
	if (!existsSync(directory)) return [];
	return readdirSync(directory).filter(name => JOB_ID.test(name));
}

/** The id that a beginning stands for. Throws JOB_UNKNOWN if there is none, or more than one. */
export function findJobId(directory: string, given: string): string {
	const ids = listJobIds(directory);
	if (ids.includes(given)) return given;
	const found = given.length < MIN_PREFIX ? [] : ids.filter(id => id.startsWith(given));
	if (found.length === 1) return found[0]!;
	const message = found.length === 0 ? `there is no job \`${given}\`` : `several jobs begin with \`${given}\``;
	throw new LongarmError('JOB_UNKNOWN', {message, context: {given}});
}

export function readDescription(directory: string): JobDescription {
	let job: JobDescription;
	try {
		job = JSON.parse(readFileSync(join(directory, JOB_FILES.description), 'utf8')) as JobDescription;
	} catch (cause) {
		throw new LongarmError('JOB_UNUSABLE', {message: `the job in ${directory} cannot be read`, cause});
	}
	if (job.format === JOB_FORMAT) return job;
	throw new LongarmError('JOB_UNUSABLE', {message: `the job in ${directory} is one of another version`});
}
