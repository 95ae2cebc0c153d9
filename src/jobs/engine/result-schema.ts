import {errorMessage} from '../../shared/errors.js';
import {LimitedThreads, ThreadTimeoutError} from '../../shared/node/limited-threads.js';
import {startWorker} from '../../shared/node/worker-file.js';
import {JobInputError} from '../input/job-input-error.js';
import type {FromSchemaWorker, ToSchemaWorker} from './schema-messages.js';

/** Characters of a JSON Schema as compact JSON. */
export const MAX_SCHEMA_CHARS = 128 * 1024;
/** Time for compiling a schema, or for checking one result: its regular expressions can run for ever. */
export const MAX_SCHEMA_MS = 2000;
/** Threads that work with schemas, of all accounts; an account uses one at a time. */
export const MAX_SCHEMA_THREADS = 2;
/** Memory of one such thread. */
const MAX_THREAD_MEMORY_MB = 256;
/** Characters of a compiler's error that are kept. */
const MAX_PROBLEM_CHARS = 500;

/** Says what is wrong with a result, given as JSON; undefined if nothing is. */
export type ResultCheck = (json: string) => Promise<string | undefined>;

const threads = new LimitedThreads<ToSchemaWorker, FromSchemaWorker>({
	start: () =>
		startWorker('schema-worker.js', import.meta.url, {
			resourceLimits: {maxOldGenerationSizeMb: MAX_THREAD_MEMORY_MB},
		}),
	maxThreads: MAX_SCHEMA_THREADS,
	maxMs: MAX_SCHEMA_MS,
});

/**
 * A check of results against a JSON Schema: 2020-12, or draft 7 if the schema says so. The schema is compiled and used in threads
 * that accounts share evenly. Throws a `JobInputError` for one that is too long, cannot be compiled, or takes too long.
 */
export async function compileSchema(schema: unknown, account: unknown = 'own jobs'): Promise<ResultCheck> {
	const text = toSchemaText(schema);
	const run = async (result?: string): Promise<FromSchemaWorker> =>
		(await threads.run(account, text, () => ({schema: text, result})).answer)!;
	let compiled: FromSchemaWorker;
	try {
		compiled = await run();
	} catch (cause) {
		throw isOverLimit(cause) ? unusable(describeLimit(cause), cause) : cause;
	}
	if (compiled.kind === 'failed') throw unusable(compiled.message);
	return async json => {
		try {
			const checked = await run(json);
			return checked.kind === 'failed' ? `it cannot be checked: ${shorten(checked.message)}` : checked.problem;
		} catch (error) {
			if (!isOverLimit(error)) throw error;
			return `it cannot be checked: ${describeLimit(error)}`;
		}
	};
}

/** The text that a thread compiles; throws a `JobInputError` without compiling anything. */
function toSchemaText(schema: unknown): string {
	if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
		throw new JobInputError('the schema must be a JSON object');
	}
	let text: string;
	try {
		text = JSON.stringify(schema);
	} catch (cause) {
		// A schema of a hundred thousand levels, say.
		throw unusable(errorMessage(cause), cause);
	}
	if (text.length <= MAX_SCHEMA_CHARS) return text;
	throw new JobInputError(
		`the schema has ${text.length} characters, and at most ${MAX_SCHEMA_CHARS} are allowed: make it smaller`,
	);
}

/** Whether the schema is to blame, and not the system that has no thread. */
function isOverLimit(error: unknown): boolean {
	return error instanceof ThreadTimeoutError || isOutOfMemory(error);
}

function isOutOfMemory(error: unknown): boolean {
	return (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function describeLimit(error: unknown): string {
	if (isOutOfMemory(error)) return `it takes more than ${MAX_THREAD_MEMORY_MB} MB of memory`;
	return `it takes longer than ${MAX_SCHEMA_MS / 1000} s; simplify its patterns, or make it smaller`;
}

function unusable(problem: string, cause?: unknown): JobInputError {
	return new JobInputError(`the schema cannot be used: ${shorten(problem)}`, {cause});
}

function shorten(text: string): string {
	return text.slice(0, MAX_PROBLEM_CHARS);
}
