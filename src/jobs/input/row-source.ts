import {createHash} from 'node:crypto';
import {createReadStream} from 'node:fs';
import {extname} from 'node:path';
import type {Readable} from 'node:stream';
import {errorMessage} from '../../shared/errors.js';
import {osErrorText} from '../../shared/node/os-error.js';
import type {ItemRow} from '../item-worker.js';
import {MAX_ITEMS} from '../job-description.js';
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

/** Columns of a row: each row becomes an object at once, and nothing else is done meanwhile. */
export const MAX_COLUMNS = 10_000;
/** Longest row. */
const MAX_ROW_BYTES = 8 * 1024 * 1024;

/** Bounds of an input. */
export interface RowLimits {
	readonly maxRowBytes: number;
	/** As many as the job can have without this member. */
	readonly maxRows?: number | undefined;
}

/** Rows of the bytes of an input; the columns are told before the first row. */
export type ParseRows = (
	bytes: AsyncIterable<Uint8Array>,
	tellHeaders: (headers: readonly string[]) => void,
	maxRowBytes: number,
) => AsyncIterable<ItemRow>;

/** Throws a `JobInputError` for a row with too many columns. */
export function requireFewColumns(count: number, where: string): void {
	if (count <= MAX_COLUMNS) return;
	throw new JobInputError(`${where} has ${count} columns, and at most ${MAX_COLUMNS} are allowed`);
}

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
export async function readRows(
	input: AsyncIterable<Uint8Array>,
	format: InputFormat,
	{maxRowBytes, maxRows = MAX_ITEMS}: RowLimits = {maxRowBytes: MAX_ROW_BYTES},
): Promise<RowSource> {
	const hash = createHash('sha256');
	const parse = await loadParser(format);
	let headers: readonly string[] = [];
	const bytes = hashing(input, chunk => hash.update(chunk));
	return {
		format,
		get headers() {
			return headers;
		},
		rows: atMost(
			maxRows,
			parse(bytes, told => (headers = told), maxRowBytes),
		),
		digest: () => hash.digest('hex'),
	};
}

async function* atMost(max: number, rows: AsyncIterable<ItemRow>): AsyncGenerator<ItemRow, void, void> {
	let count = 0;
	for await (const row of rows) {
		if (++count > max) throw new JobInputError(`a job has at most ${max} rows`);
		yield row;
	}
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
