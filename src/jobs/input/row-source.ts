import {createHash} from 'node:crypto';
import {createReadStream} from 'node:fs';
import {extname} from 'node:path';
import type {Readable} from 'node:stream';
import {errorMessage} from '../../shared/errors.js';
import {osErrorText} from '../../shared/node/os-error.js';
import type {ItemRow} from '../item-worker.js';
import {JobInputError} from './job-input-error.js';

/** Standard input in place of a file. */
export const STANDARD_INPUT = '-';

/** Form of the input: records with a header, or one JSON object per line. */
export type InputFormat = 'csv' | 'jsonl';

/** Rows of an input, read once and in order. */
export interface RowSource {
	readonly format: InputFormat;
	/** Columns in their order; of JSON lines those of the first row. Known after the first read of `rows`. */
	readonly headers: readonly string[];
	readonly rows: AsyncIterable<ItemRow>;
	/** SHA-256 of everything that was read; call after the last row. */
	digest(): string;
}

/** Rows of the bytes of an input; the columns are told before the first row. */
export type ParseRows = (
	bytes: AsyncIterable<Uint8Array>,
	tellHeaders: (headers: readonly string[]) => void,
) => AsyncIterable<ItemRow>;

/** `.csv` is CSV; `.jsonl`, `.ndjson` and standard input are JSON lines. */
export function formatOfInput(path: string): InputFormat {
	const extension = extname(path).toLowerCase();
	if (path === STANDARD_INPUT || extension === '.jsonl' || extension === '.ndjson') return 'jsonl';
	return 'csv';
}

/** Opens the input of a job. Failures while it is read are `JobInputError`s. */
export async function openRows(path: string, format: InputFormat = formatOfInput(path)): Promise<RowSource> {
	return readRows(readInput(path, format), format);
}

/** Rows of bytes that come from anywhere. */
export async function readRows(input: AsyncIterable<Uint8Array>, format: InputFormat): Promise<RowSource> {
	const hash = createHash('sha256');
	const parse = await loadParser(format);
	let headers: readonly string[] = [];
	const bytes = hashing(input, chunk => hash.update(chunk));
	return {
		format,
		get headers() {
			return headers;
		},
		rows: parse(bytes, told => {
			headers = told;
		}),
		digest: () => hash.digest('hex'),
	};
}

async function loadParser(format: InputFormat): Promise<ParseRows> {
	if (format === 'csv') return (await import('./csv-rows.js')).parseCsvRows;
	return (await import('./json-rows.js')).parseJsonRows;
}

async function* hashing(
	input: AsyncIterable<Uint8Array>,
	see: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void, void> {
	for await (const chunk of input) {
		see(chunk);
		yield chunk;
	}
}

/** The bytes of a file or of standard input. It is opened with the first read: before it nobody would take an error. */
export async function* readInput(path: string, format: InputFormat): AsyncGenerator<Uint8Array, void, void> {
	const input: Readable = path === STANDARD_INPUT ? process.stdin : createReadStream(path);
	try {
		for await (const chunk of input) yield chunk as Uint8Array;
	} catch (error) {
		const {errno} = error as NodeJS.ErrnoException;
		const reason = errno === undefined ? errorMessage(error) : osErrorText(errno);
		throw new JobInputError(`failed to read ${format === 'csv' ? 'csv' : 'JSON lines'} input ${path}: ${reason}`, {
			cause: error,
		});
	}
}
