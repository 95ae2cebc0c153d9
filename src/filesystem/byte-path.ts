import {decodeUtf8, encodeUtf8} from '../protocol/path-uri/path-uri-encoding.js';

declare const bytes: unique symbol;

/**
 * Absolute path as a binary string, one character for each byte: names that are not valid UTF-8 are preserved, compare
 * in byte order and split like strings.
 */
export type BytePath = string & {readonly [bytes]: true};

const NOT_ASCII = /[^\0-\x7f]/;

export const ROOT = '/' as BytePath;

/** Encodes an absolute path given as text. */
export function bytePath(text: string): BytePath {
	return (encodeUtf8(text) ?? Buffer.from(text).toString('latin1')) as BytePath;
}

/** Path for node:fs: a string where node:fs encodes it to the same bytes, else a Buffer. */
export function toFsPath(path: BytePath): string | Buffer {
	return NOT_ASCII.test(path) ? Buffer.from(path, 'latin1') : path;
}

/** Text for messages: bytes that are not UTF-8 are replaced. */
export function toDisplayText(path: string): string {
	return decodeUtf8(path) ?? Buffer.from(path, 'latin1').toString('utf8');
}

export function joinPath(parent: BytePath, name: string): BytePath {
	return (parent === ROOT ? `/${name}` : `${parent}/${name}`) as BytePath;
}

export function parentPath(path: BytePath): BytePath {
	return path.slice(0, Math.max(1, path.lastIndexOf('/'))) as BytePath;
}

export function baseName(path: BytePath): string {
	return path.slice(path.lastIndexOf('/') + 1);
}

/** Path components; none for the root. */
export function splitPath(path: BytePath): string[] {
	return path === ROOT ? [] : path.slice(1).split('/');
}

export function isWithin(path: BytePath, directory: BytePath): boolean {
	return path === directory || path.startsWith(directory === ROOT ? '/' : `${directory}/`);
}
