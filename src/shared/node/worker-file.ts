import {existsSync} from 'node:fs';

/**
 * The program of a worker thread, which has to be a file of JavaScript: it lies beside the module that asks, in the
 * library as in the bundle. Run from the sources there is only the one of the last build.
 */
export function workerFile(name: string, asker: string): URL {
	const beside = new URL(name, asker);
	if (!asker.endsWith('.ts') || existsSync(beside)) return beside;
	return new URL(beside.href.replace('/src/', '/dist/'));
}
