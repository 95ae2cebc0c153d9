import {withTimeout} from '../../shared/async/timeout.js';
import {JobInputError} from '../input/job-input-error.js';

/** Description of a job, on the first line of an upload. */
export const MAX_UPLOAD_HEAD_BYTES = 512 * 1024;
/** All rows of one job. */
export const MAX_UPLOAD_BYTES = 1024 * 1024 * 1024;
/** An upload of which nothing comes for so long is given up. */
const MAX_SILENCE_MS = 30_000;
const NEWLINE = 0x0a;

/** An upload: the first line is JSON, the rest are the rows as they are in the input. */
export interface Upload {
	readonly head: unknown;
	readonly rows: AsyncIterable<Uint8Array>;
}

/** Reads the first line; throws a `JobInputError` for an upload that cannot be used. */
export async function splitUpload(bytes: AsyncIterable<Uint8Array>): Promise<Upload> {
	const source = bounded(bytes)[Symbol.asyncIterator]();
	const pieces: Uint8Array[] = [];
	let headBytes = 0;
	for (;;) {
		const {value, done} = await source.next();
		if (done) throw new JobInputError('the upload ends within its first line');
		// Only in the new piece: a line that comes byte by byte must not be searched again with each of them.
		const end = value.indexOf(NEWLINE);
		pieces.push(end < 0 ? value : value.subarray(0, end));
		headBytes += end < 0 ? value.length : end;
		if (headBytes > MAX_UPLOAD_HEAD_BYTES) {
			throw new JobInputError(`the description of the job is longer than ${MAX_UPLOAD_HEAD_BYTES} bytes`);
		}
		if (end >= 0) return {head: parseHead(Buffer.concat(pieces)), rows: goOn(value.subarray(end + 1), source)};
	}
}

function parseHead(line: Buffer): unknown {
	try {
		return JSON.parse(line.toString());
	} catch (cause) {
		throw new JobInputError('the first line of the upload is no JSON', {cause});
	}
}

async function* goOn(first: Uint8Array, rest: AsyncIterator<Uint8Array, void>): AsyncGenerator<Uint8Array, void, void> {
	if (first.length > 0) yield first;
	for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

async function* bounded(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
	let total = 0;
	const source = bytes[Symbol.asyncIterator]();
	for (;;) {
		const next = await withinSilence(source.next());
		if (next.done) return;
		total += next.value.length;
		if (total > MAX_UPLOAD_BYTES) throw new JobInputError(`the rows of a job have at most ${MAX_UPLOAD_BYTES} bytes`);
		yield next.value;
	}
}

function withinSilence<T>(next: Promise<T>): Promise<T> {
	return withTimeout(next, MAX_SILENCE_MS, () => {
		throw new JobInputError(`nothing of the job has come for ${MAX_SILENCE_MS / 1000} s`);
	});
}
