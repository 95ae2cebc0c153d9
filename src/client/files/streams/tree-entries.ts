import * as v from 'valibot';
import {percentDecode} from '../../../protocol/path-uri/path-uri-encoding.js';
import {FileError} from '../file-error.js';
import type {TreeEntry} from '../files.js';

const NEWLINE = 0x0a;
/** A line with the longest name, every byte of it encoded. */
const MAX_LINE_BYTES = 64 * 1024;

const line = v.union([
	v.object({
		name: v.string(),
		kind: v.picklist(['file', 'directory', 'symlink', 'other']),
		size: v.number(),
		mode: v.number(),
		modifiedAtMs: v.number(),
		target: v.optional(v.string()),
	}),
	v.object({name: v.string(), error: v.string()}),
]);

/** Parses the entries of a list, one line of JSON each. Leaving the loop cancels the stream. */
export async function* treeEntries(
	stream: ReadableStream<Uint8Array>,
	path: string,
): AsyncGenerator<TreeEntry, void, void> {
	const decoder = new TextDecoder();
	let rest: Uint8Array = new Uint8Array();
	for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
		const bytes = concatenate(rest, chunk);
		let from = 0;
		for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
			yield parseEntry(decoder.decode(bytes.subarray(from, end)), path);
			from = end + 1;
		}
		rest = bytes.slice(from);
		if (rest.length > MAX_LINE_BYTES) throw invalidList('a line of a list is too long', path);
	}
	if (rest.length > 0) throw invalidList('a list ends within a line', path);
}

function concatenate(one: Uint8Array, other: Uint8Array): Uint8Array {
	if (one.length === 0) return other;
	const both = new Uint8Array(one.length + other.length);
	both.set(one);
	both.set(other, one.length);
	return both;
}

function parseEntry(text: string, path: string): TreeEntry {
	const parsed = v.safeParse(line, parseJson(text, path));
	if (!parsed.success) throw invalidList('a line of a list is not understood', path);
	const entry = parsed.output;
	const name = percentDecode(entry.name);
	if (!isBelowRoot(name)) throw invalidList('a list names something that is not below the directory', path);
	if ('error' in entry) return {name, kind: 'failed', message: entry.error};
	const {target} = entry;
	return {...entry, name, target: target === undefined ? undefined : percentDecode(target)};
}

/** Rejects names that lead out of the directory: they come from another machine and become paths on this one. */
function isBelowRoot(name: string): boolean {
	if (name === '') return true;
	return !name.includes('\0') && name.split('/').every(part => part !== '' && part !== '.' && part !== '..');
}

function parseJson(text: string, path: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw invalidList('a line of a list is not JSON', path);
	}
}

function invalidList(message: string, path: string): FileError {
	return new FileError('invalid-data', `exec-server: ${message}`, {path});
}
