import {decodeUtf8, encodeUtf8} from '../protocol/path-uri/path-uri-encoding.js';

declare const bytes: unique symbol;

/**
 * An absolute path, one character for each byte: names that are no text in any encoding stay what they are, compare in
 * byte order and split like strings.
 */
export type BytePath = string & {readonly [bytes]: true};

const NOT_ASCII = /[^\0-\x7f]/;

export const ROOT = '/' as BytePath;

/** A path of this program's own making; the text has to be absolute. */
export function bytePath(text: string): BytePath {
	return (encodeUtf8(text) ?? Buffer.from(text).toString('latin1')) as BytePath;
}

/** What node:fs takes: a string where it would make the same bytes of it. */
export function toSystem(path: BytePath): string | Buffer {
	return NOT_ASCII.test(path) ? Buffer.from(path, 'latin1') : path;
}

/** For people: what is not UTF-8 is replaced. */
export function display(path: string): string {
	return decodeUtf8(path) ?? Buffer.from(path, 'latin1').toString('utf8');
}

export function childOf(parent: BytePath, name: string): BytePath {
	return (parent === ROOT ? `/${name}` : `${parent}/${name}`) as BytePath;
}

export function parentOf(path: BytePath): BytePath {
	return path.slice(0, Math.max(1, path.lastIndexOf('/'))) as BytePath;
}

export function nameOf(path: BytePath): string {
	return path.slice(path.lastIndexOf('/') + 1);
}

/** The names on the way from the root; none for the root itself. */
export function segmentsOf(path: BytePath): string[] {
	return path === ROOT ? [] : path.slice(1).split('/');
}

export function isWithin(path: BytePath, directory: BytePath): boolean {
	return path === directory || path.startsWith(directory === ROOT ? '/' : `${directory}/`);
}
