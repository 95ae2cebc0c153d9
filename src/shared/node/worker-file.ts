import {existsSync} from 'node:fs';

/**
 * Program of a worker thread, which has to be a file of JavaScript: beside the module that starts it, in the library as in
 * the bundle. When run from the TypeScript sources, the file of the last build.
 */
export function findWorkerFile(name: string, moduleUrl: string): URL {
	const beside = new URL(name, moduleUrl);
	if (!moduleUrl.endsWith('.ts') || existsSync(beside)) return beside;
	return new URL(beside.href.replace('/src/', '/dist/'));
}
