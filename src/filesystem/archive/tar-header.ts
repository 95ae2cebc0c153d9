import type {Stats} from 'node:fs';
import type {Headers} from 'tar-stream';
import {decodeUtf8, percentEncode} from '../../protocol/path-uri/path-uri-encoding.js';
import {toDisplayText} from '../byte-path.js';

/** The types of tar-stream lack `pax`. */
export type TarHeader = Headers & {pax?: Readonly<Record<string, string>> | null};

/** pax records with the bytes of names that are not UTF-8; other programs ignore them. */
export const EXACT_PATH = 'LONGARM.path';
export const EXACT_LINK = 'LONGARM.linkpath';

export const PERMISSIONS = 0o777;
/** tar-stream takes a mode of 0 for a missing one; these bits, which it does not write, keep the mode from being 0. */
const TYPE_BITS = 0o100_000;
/** Largest time of a plain header that tar-stream can encode. */
const MAX_PLAIN_SECONDS = 2 ** 31 - 1;
const REPLACEMENT = '\uFFFD';

type Shape =
	| {readonly type: 'directory'}
	| {readonly type: 'file'; readonly size: number}
	| {readonly type: 'symlink' | 'link'; readonly target: string};

/** Header of an entry; names and targets are binary strings. */
export function createTarHeader(name: string, {mode, mtimeMs}: Stats, shape: Shape): TarHeader {
	const path = shape.type === 'directory' ? `${name === '' ? '.' : name}/` : name;
	const target = 'target' in shape ? shape.target : undefined;
	const ms = Math.floor(mtimeMs);
	const seconds = Math.min(Math.max(0, Math.floor(ms / 1000)), MAX_PLAIN_SECONDS);
	const pax = {
		...(ms !== seconds * 1000 && {mtime: (ms / 1000).toFixed(3)}),
		...createExactNameRecord(EXACT_PATH, path),
		...(target !== undefined && createExactNameRecord(EXACT_LINK, target)),
	};
	return {
		name: toDisplayText(path),
		type: shape.type,
		mode: (mode & PERMISSIONS) | TYPE_BITS,
		mtime: new Date(seconds * 1000),
		size: shape.type === 'file' ? shape.size : 0,
		...(target !== undefined && {linkname: toDisplayText(target)}),
		...(Object.keys(pax).length > 0 && {pax}),
	};
}

/** Also for valid text that contains a replacement character, so that `isMangled` does not take it for a lossy name. */
function createExactNameRecord(key: string, bytes: string): Record<string, string> {
	const text = decodeUtf8(bytes);
	return text === undefined || text.includes(REPLACEMENT) ? {[key]: percentEncode(bytes)} : {};
}
