import {basename} from 'node:path';
import * as v from 'valibot';
import {RESULT_MODES, requireUsableCommand} from '../command/command-spec.js';
import {JobInputError} from '../input/job-input-error.js';
import {type JobDescription, MAX_ITEMS, RETRY_REASONS} from '../job-description.js';
import type {HubWork, JobOwner, SubmittedJob} from './hub-jobs.js';

/** Executors of one job. */
export const MAX_JOB_EXECUTORS = 1000;
/** Items at once, of one job and on one executor. */
const MAX_AT_ONCE = 10_000;
const MAX_NAME_CHARS = 1024;
const MAX_TEXT_CHARS = 128 * 1024;
const MAX_WORDS = 4096;
/** An environment of the hub, `pool:NAME`, or labels such as `@os=linux+arch=arm64`. */
const PLACE = /^(?:[A-Za-z0-9_-]{1,64}|pool:[A-Za-z0-9_-]{1,64}(?:\+[\w.=+/-]{1,256})?|@[\w.=+/-]{1,256})$/;

const name = v.pipe(v.string(), v.maxLength(MAX_NAME_CHARS));
const text = v.pipe(v.string(), v.maxLength(MAX_TEXT_CHARS));
const count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_ITEMS));
const atOnce = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_AT_ONCE));
const duration = v.pipe(v.number(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER));

const commandSpec = v.strictObject({
	kind: v.literal('command'),
	command: v.union([
		v.strictObject({line: text}),
		v.strictObject({argv: v.pipe(v.array(text), v.minLength(1), v.maxLength(MAX_WORDS))}),
	]),
	result: v.picklist(RESULT_MODES),
	stdin: v.picklist(['row', 'none']),
	logs: v.picklist(['all', 'failed', 'none']),
});
const submission = v.strictObject({
	inputName: name,
	inputFormat: v.picklist(['csv', 'jsonl']),
	idColumn: v.optional(name),
	rules: v.strictObject({
		maxConcurrency: atOnce,
		maxRuntimeMs: v.pipe(duration, v.minValue(1000)),
		retries: count,
		retryOn: v.pipe(v.array(v.picklist(RETRY_REASONS)), v.maxLength(RETRY_REASONS.length)),
		countLost: v.boolean(),
		maxFailures: v.optional(v.pipe(count, v.minValue(1))),
		placement: v.union([
			v.strictObject({kind: v.picklist(['least-busy', 'round-robin'])}),
			v.strictObject({kind: v.literal('column'), column: name}),
		]),
		schema: v.optional(v.unknown()),
		leaseMs: duration,
	}),
	command: commandSpec,
	executors: v.pipe(
		v.array(
			v.strictObject({
				name: v.pipe(v.string(), v.regex(PLACE, 'is neither an environment of the hub nor pool:NAME nor @KEY=VALUE')),
				slots: atOnce,
				cwd: v.optional(text),
			}),
		),
		v.minLength(1),
		v.maxLength(MAX_JOB_EXECUTORS),
	),
});

/** A job as it goes over the wire. */
export type JobSubmission = v.InferInput<typeof submission>;

/** The job of a request; throws a `JobInputError` for one that cannot be used. Its schema is not compiled. */
export function readSubmission(value: unknown, owner: JobOwner): SubmittedJob {
	const {success, output, issues} = v.safeParse(submission, value);
	if (!success) {
		const {message} = issues[0];
		throw new JobInputError(`the job cannot be used: ${v.getDotPath(issues[0]) ?? 'it'}: ${message}`);
	}
	const {command, executors, rules, ...rest} = output;
	const twice = executors.find((each, index) => executors.findIndex(other => other.name === each.name) !== index);
	if (twice) throw new JobInputError(`the executor ${twice.name} is given twice`);
	return {
		...rest,
		// A name for people: where the file is concerns nobody else.
		inputName: basename(rest.inputName),
		rules,
		work: {command, owner},
		executors: executors.map(each => ({...each, where: each.name})),
	};
}

/** Throws a `JobInputError` for a command that cannot be used with the rows. */
export function requireUsableJob(job: Pick<JobDescription, 'headers' | 'inputFormat' | 'work'>): void {
	requireUsableCommand((job.work as HubWork).command, job);
}
