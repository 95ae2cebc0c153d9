import type {Stats} from 'node:fs';
import type {Headers} from 'tar-stream';
import {decodeUtf8, percentEncode} from '../../protocol/path-uri/path-uri-encoding.js';
import {display} from '../byte-path.js';

/** The types of tar-stream leave out what it does with `pax`. */
export type TarHeader = Headers & {pax?: Readonly<Record<string, string>> | null};

/** Names that are no text, byte for byte; other programs leave these records alone. */
export const EXACT_PATH = 'LONGARM.path';
export const EXACT_LINK = 'LONGARM.linkpath';

export const PERMISSIONS = 0o777;
/** tar-stream takes a mode of zero for none; the bits of the type keep it from being zero and are not written. */
const TYPE_BITS = 0o100_000;
/** The plain header holds whole seconds from the epoch up to what tar-stream counts to. */
const LATEST_PLAIN_SECONDS = 2 ** 31 - 1;
const REPLACEMENT = '\uFFFD';

type Shape =
	| {readonly type: 'directory'}
	| {readonly type: 'file'; readonly size: number}
	| {readonly type: 'symlink' | 'link'; readonly target: string};

/** The header of an entry; names and targets are bytes. */
export function tarHeader(name: string, {mode, mtimeMs}: Stats, shape: Shape): TarHeader {
	const path = shape.type === 'directory' ? `${name === '' ? '.' : name}/` : name;
	const target = 'target' in shape ? shape.target : undefined;
	const ms = Math.floor(mtimeMs);
	const seconds = Math.min(Math.max(0, Math.floor(ms / 1000)), LATEST_PLAIN_SECONDS);
	const pax = {
		...(ms !== seconds * 1000 && {mtime: (ms / 1000).toFixed(3)}),
		...exactly(EXACT_PATH, path),
		...(target !== undefined && exactly(EXACT_LINK, target)),
	};
	return {
		name: display(path),
		type: shape.type,
		mode: (mode & PERMISSIONS) | TYPE_BITS,
		mtime: new Date(seconds * 1000),
		size: shape.type === 'file' ? shape.size : 0,
		...(target !== undefined && {linkname: display(target)}),
		...(Object.keys(pax).length > 0 && {pax}),
	};
}

/** Also for a text that looks like one in which something was replaced, so that a reader can tell them apart. */
function exactly(key: string, bytes: string): Record<string, string> {
	const text = decodeUtf8(bytes);
	return text === undefined || text.includes(REPLACEMENT) ? {[key]: percentEncode(bytes)} : {};
}
