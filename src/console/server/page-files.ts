import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {extname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {gunzipSync} from 'node:zlib';
import {LongarmError} from '../../shared/errors.js';

/** Places of the built page relative to this file: in the package, in the command itself, and in the source. */
const FOLDERS = ['../assets/', '../console/assets/', '../../../dist/console/assets/'];
const SUFFIX = '.gz';
const TYPES: Readonly<Record<string, string>> = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
	'.css': 'text/css; charset=utf-8',
	'.svg': 'image/svg+xml',
	'.webmanifest': 'application/manifest+json',
};

export interface PageFile {
	readonly type: string;
	/** Compressed with gzip. */
	readonly compressed: Buffer;
	readonly plain: () => Buffer;
}

/** The files of the page by name, all of them read at once: an upgrade may replace those on disk. */
export function loadPageFiles(folder = findFolder()): ReadonlyMap<string, PageFile> {
	const names = readdirSync(folder).filter(name => name.endsWith(SUFFIX));
	return new Map(
		names.map(name => {
			const compressed = readFileSync(join(folder, name));
			const shown = name.slice(0, -SUFFIX.length);
			const type = TYPES[extname(shown)] ?? 'application/octet-stream';
			return [shown, {type, compressed, plain: () => gunzipSync(compressed)}];
		}),
	);
}

function findFolder(): string {
	const folder = FOLDERS.map(path => fileURLToPath(new URL(path, import.meta.url))).find(path => existsSync(path));
	if (folder !== undefined) return folder;
	throw new LongarmError('NOT_SUPPORTED', {message: 'the pages of the console are not part of this installation'});
}
