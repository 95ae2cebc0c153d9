import {join} from 'node:path';
import * as v from 'valibot';
import {endReason} from '../../protocol/methods/process-methods.js';
import {stringMap} from '../../protocol/wire/fields.js';
import {closeQuietly, createPrivateFile, isSystemError, readTextFile, replaceFile, writeFully} from './state-files.js';

/** Longest description of a process; its arguments are most of it. */
const MAX_DESCRIPTION_BYTES = 16 * 1024 * 1024;

const META_FILE = 'meta.json';

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const dimension = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535));
const audience = v.picklist(['owner', 'any']);

const processMeta = v.object({
	version: v.literal(1),
	id: v.string(),
	name: v.optional(v.string()),
	labels: stringMap,
	/** Name of the token that started it. */
	owner: v.optional(v.string()),
	share: v.object({observe: audience, drive: audience}),
	argv: v.array(v.string()),
	cwd: v.optional(v.string()),
	tty: v.boolean(),
	rows: v.optional(dimension),
	cols: v.optional(dimension),
	pid: v.optional(count),
	/** Milliseconds since 1970. */
	startedAtMs: v.number(),
	/** Server or keeper that started it. */
	generation: v.string(),
	durable: v.boolean(),
	/** The keeper it lives in. */
	keeper: v.optional(v.string()),
	record: v.optional(v.object({input: v.boolean()})),
});

const exitRecord = v.object({
	exitCode: v.pipe(v.number(), v.safeInteger()),
	reason: endReason,
	sandboxDenied: v.optional(v.boolean()),
	seq: v.pipe(count, v.minValue(1)),
	/** Milliseconds since 1970. */
	ms: v.number(),
});

/** Facts of a process that outlive the server. */
export type ProcessMeta = v.InferOutput<typeof processMeta>;
/** How a process ended, and when. */
export type ExitRecord = v.InferOutput<typeof exitRecord>;

/** Space of a description for the pid, which is known only when the process has started. */
const PID_ROOM = ' '.repeat(24);

/** A new description of a process that is about to be started: its pid is written into it, instead of a second file. */
export class StartingMeta {
	readonly #fd: number;
	readonly #pidAt: number;
	#isOpen = true;

	/** Throws if there is one already. */
	constructor(directory: string, meta: ProcessMeta) {
		const members = Buffer.from(JSON.stringify(meta).slice(0, -1));
		this.#pidAt = members.length;
		this.#fd = createPrivateFile(join(directory, META_FILE));
		try {
			writeFully(this.#fd, Buffer.concat([members, Buffer.from(`${PID_ROOM}}\n`)]), 0);
		} catch (error) {
			this.close();
			throw error;
		}
	}

	writePid(pid: number): void {
		if (this.#isOpen) writeFully(this.#fd, Buffer.from(`,"pid":${pid}`), this.#pidAt);
	}

	close(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		closeQuietly(this.#fd);
	}
}

export function writeMeta(directory: string, meta: ProcessMeta): void {
	replaceFile(join(directory, META_FILE), `${JSON.stringify(meta)}\n`);
}

/** Throws an error that says where the file is damaged. */
export function readMeta(directory: string): ProcessMeta {
	return readJson(join(directory, META_FILE), processMeta);
}

export function writeExit(directory: string, exit: ExitRecord): void {
	replaceFile(join(directory, 'exit.json'), `${JSON.stringify(exit)}\n`);
}

/** Undefined while there is none; throws an error that says where the file is damaged. */
export function readExit(directory: string): ExitRecord | undefined {
	try {
		return readJson(join(directory, 'exit.json'), exitRecord);
	} catch (error) {
		if (isSystemError(error, 'ENOENT')) return undefined;
		throw error;
	}
}

function readJson<T>(path: string, schema: v.GenericSchema<unknown, T>): T {
	const text = readTextFile(path, MAX_DESCRIPTION_BYTES);
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (cause) {
		throw new Error(`${path} is damaged: it is not JSON`, {cause});
	}
	const result = v.safeParse(schema, value);
	if (result.success) return result.output;
	const [issue] = result.issues;
	throw new Error(`${path} is damaged: ${v.getDotPath(issue) ?? 'it'}: ${issue.message}`);
}
