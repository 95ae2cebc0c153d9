import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {PathUri} from '../../src/protocol/path-uri/path-uri.js';
import type {ServerOptions} from '../../src/server/options.js';
import {scratchDirectory} from './scratch.js';
import {type Joined, join as joinServer, serving} from './serving.js';

export const uri = (...steps: [string, ...string[]]): string =>
	PathUri.fromNative(steps.length === 1 ? steps[0] : join(...steps)).href;
export const base64 = (content: string | Uint8Array): string => Buffer.from(content as string).toString('base64');
export const bytes = (text: string): Buffer => Buffer.from(text, 'base64');

/** A temporary file of ascending 32-bit numbers, so that every lost or swapped byte shows. */
export function countedFile(length: number, from = 0): {path: string; content: Buffer} {
	const path = join(scratchDirectory(), 'counted');
	const content = Buffer.from(Uint32Array.from({length: length / 4}, (_, index) => from + index).buffer);
	writeFileSync(path, content);
	return {path, content};
}

export interface FileServing extends Joined {
	/** A path in a directory of the test's own. */
	readonly at: (...names: string[]) => string;
	/** The same as the `path` of a request. */
	readonly path: (...names: string[]) => {path: string};
}

/** A server over a real socket, a client of it, and a directory to work in. */
export async function servingFiles(options: ServerOptions = {}): Promise<FileServing> {
	const root = scratchDirectory();
	const at = (...names: string[]) => join(root, ...names);
	return {...(await joinServer(await serving(options))), at, path: (...names) => ({path: uri(at(...names))})};
}
