import {Readable} from 'node:stream';
import {type CsvError, type Info, parse} from 'csv-parse';
import type {ItemRow} from '../item-worker.js';
import {JobInputError} from './job-input-error.js';
import {type ParseRows, requireFewColumns} from './row-source.js';

interface ParsedRecord {
	readonly record: readonly string[];
	readonly info: Pick<Info, 'lines'>;
}

/**
 * Rows of CSV: commas, double quotes, any line ends, a header in the first record. Records whose fields are all empty are
 * skipped; any other with a wrong number of fields is an error.
 */
export const parseCsvRows: ParseRows = async function* (bytes, tellHeaders, maxRowBytes) {
	let headers: readonly string[] | undefined;
	// Physical line on which the record begins; a field in quotes may span several.
	let line = 1;
	for await (const {record, info} of parseRecords(bytes, maxRowBytes)) {
		const begins = line;
		line = info.lines + 1;
		if (!headers) {
			headers = requireHeaders(record);
			tellHeaders(headers);
		} else if (record.some(field => field !== '')) {
			yield toRow(headers, record, begins);
		}
	}
	if (!headers) throw new JobInputError('csv input must include a header row');
};

function toRow(headers: readonly string[], record: readonly string[], line: number): ItemRow {
	if (record.length !== headers.length) {
		throw new JobInputError(`csv row ${line} has ${record.length} fields but header has ${headers.length}`);
	}
	return toObject(headers, record);
}

function requireHeaders(record: readonly string[]): readonly string[] {
	if (record.every(field => field === '')) throw new JobInputError('csv input must include a header row');
	requireFewColumns(record.length, 'csv header');
	const seen = new Set<string>();
	for (const name of record) {
		if (seen.has(name)) throw new JobInputError(`csv header ${name} is duplicated`);
		seen.add(name);
	}
	return record;
}

/** Without `__proto__` as a setter: a column may have any name. */
function toObject(headers: readonly string[], record: readonly string[]): ItemRow {
	return Object.fromEntries(headers.map((name, index) => [name, record[index]!]));
}

async function* parseRecords(
	bytes: AsyncIterable<Uint8Array>,
	maxRowBytes: number,
): AsyncGenerator<ParsedRecord, void, void> {
	const parser = parse({
		bom: true,
		info: true,
		relax_column_count: true,
		relax_quotes: true,
		// So that a quote that is never closed does not read the whole input into memory.
		max_record_size: maxRowBytes,
	});
	const input = Readable.from(bytes, {objectMode: false});
	// An error of the input has to reach the reader of the records.
	input.on('error', error => parser.destroy(error));
	input.pipe(parser);
	try {
		for await (const parsed of parser) yield parsed as ParsedRecord;
	} catch (error) {
		if (error instanceof JobInputError) throw error;
		throw new JobInputError(`failed to parse csv input: ${(error as CsvError).message}`, {cause: error});
	}
}
