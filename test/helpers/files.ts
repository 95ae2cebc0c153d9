import {join} from 'node:path';
import {PathUri} from '../../src/protocol/path-uri/path-uri.js';
import type {ServerOptions} from '../../src/server/options.js';
import {scratchDirectory} from './scratch.js';
import {type Joined, join as joinServer, serving} from './serving.js';

export const uri = (path: string): string => PathUri.fromNative(path).href;
export const base64 = (content: string | Uint8Array): string => Buffer.from(content as string).toString('base64');
export const bytes = (text: string): Buffer => Buffer.from(text, 'base64');

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
