import type {EntryKind, Files} from '../../client/files/files.js';
import {childOf, toShownName} from './shown-paths.js';

/** Entries of a directory that are shown. */
export const MAX_SHOWN_ENTRIES = 5000;
/** Bytes of a file that are shown. */
export const MAX_PREVIEW_BYTES = 1024 * 1024;
const IMAGE_TYPES: Readonly<Record<string, string>> = {
	png: 'image/png',
	jpg: 'image/jpeg',
	jpeg: 'image/jpeg',
	gif: 'image/gif',
	webp: 'image/webp',
};
const MAX_IMAGE_BYTES = 16 * 1024 * 1024;

export interface ShownEntry {
	readonly path: string;
	readonly shown: string;
	readonly kind: EntryKind;
	readonly size: number;
}

export interface ShownDirectory {
	readonly entries: readonly ShownEntry[];
	readonly isCut: boolean;
}

export type FilePreview =
	| {
			readonly kind: 'text';
			readonly text: string;
			readonly bytes: Uint8Array;
			readonly isCut: boolean;
			readonly size: number;
	  }
	| {readonly kind: 'image'; readonly url: string; readonly size: number}
	| {readonly kind: 'binary'; readonly size: number};

/** Directories first, by name. */
export async function readShownDirectory(files: Files, path: string): Promise<ShownDirectory> {
	const entries: ShownEntry[] = [];
	let isCut = false;
	for await (const entry of files.list(path, {depth: 1})) {
		if (entry.name === '') continue;
		if (entries.length >= MAX_SHOWN_ENTRIES) {
			isCut = true;
			break;
		}
		const shown = toShownName(entry.name);
		const kind = entry.kind === 'failed' ? 'other' : entry.kind;
		entries.push({path: childOf(path, entry.name), shown, kind, size: entry.kind === 'failed' ? 0 : entry.size});
	}
	const rank = ({kind}: ShownEntry): number => (kind === 'directory' ? 0 : 1);
	entries.sort((one, other) => rank(one) - rank(other) || one.shown.localeCompare(other.shown));
	return {entries, isCut};
}

export async function readPreview(files: Files, path: string): Promise<FilePreview> {
	const {size = 0} = await files.metadata(path);
	const type = IMAGE_TYPES[path.slice(path.lastIndexOf('.') + 1).toLowerCase()];
	if (type !== undefined && size <= MAX_IMAGE_BYTES) {
		const content = await files.readFile(path);
		return {kind: 'image', size, url: URL.createObjectURL(new Blob([content as BlobPart], {type}))};
	}
	const bytes = await readBytes(files, path, MAX_PREVIEW_BYTES);
	const text = decodeText(bytes);
	return text === undefined ? {kind: 'binary', size} : {kind: 'text', text, bytes, size, isCut: bytes.length < size};
}

/** The first bytes of a file, also of one whose size is not known before, as below `/proc`. */
export async function readBytes(files: Files, path: string, maxBytes: number, offset = 0): Promise<Uint8Array> {
	const pieces: Uint8Array[] = [];
	let length = 0;
	const reader = files.readStream(path, {offset}).getReader();
	try {
		while (length < maxBytes) {
			const {done, value} = await reader.read();
			if (done) break;
			pieces.push(value);
			length += value.length;
		}
	} finally {
		await reader.cancel().catch(() => {});
	}
	const bytes = new Uint8Array(Math.min(length, maxBytes));
	let end = 0;
	for (const piece of pieces) {
		const part = piece.subarray(0, bytes.length - end);
		bytes.set(part, end);
		end += part.length;
	}
	return bytes;
}

/** Undefined for bytes that are no text; a character that was cut off at the end is left out. */
function decodeText(bytes: Uint8Array): string | undefined {
	if (bytes.includes(0)) return undefined;
	try {
		return new TextDecoder('utf-8', {fatal: true}).decode(bytes, {stream: true});
	} catch {
		return undefined;
	}
}
