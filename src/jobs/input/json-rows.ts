import type {ItemRow} from '../item-worker.js';
import {JobInputError} from './job-input-error.js';
import {type ParseRows, requireFewColumns} from './row-source.js';

const NEWLINE = 0x0a;

/** Rows of JSON lines: one object each; blank lines are skipped. */
export const parseJsonRows: ParseRows = async function* (bytes, tellHeaders, maxRowBytes) {
	let number = 0;
	let isFirst = true;
	for await (const line of splitLines(bytes, maxRowBytes)) {
		number++;
		if (line.trim() === '') continue;
		const row = parseRow(line, number);
		requireFewColumns(Object.keys(row).length, `line ${number} of the input`);
		if (isFirst) tellHeaders(Object.keys(row));
		isFirst = false;
		yield row;
	}
};

function parseRow(line: string, number: number): ItemRow {
	let value: unknown;
	try {
		value = JSON.parse(line);
	} catch (error) {
		throw new JobInputError(`line ${number} of the input is not JSON: ${(error as Error).message}`, {cause: error});
	}
	if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ItemRow;
	throw new JobInputError(`line ${number} of the input is not a JSON object`);
}

async function* splitLines(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string, void, void> {
	const decoder = new TextDecoder();
	let rest: Uint8Array[] = [];
	let restBytes = 0;
	for await (const chunk of bytes) {
		let from = 0;
		for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
			requireShort(restBytes + end - from, maxBytes);
			yield decoder.decode(Buffer.concat([...rest, chunk.subarray(from, end)]));
			[rest, restBytes, from] = [[], 0, end + 1];
		}
		rest.push(chunk.subarray(from));
		restBytes += chunk.length - from;
		requireShort(restBytes, maxBytes);
	}
	if (restBytes > 0) yield decoder.decode(Buffer.concat(rest));
}

function requireShort(bytes: number, maxBytes: number): void {
	if (bytes > maxBytes) throw new JobInputError(`a line of the input is longer than ${maxBytes} bytes`);
}
