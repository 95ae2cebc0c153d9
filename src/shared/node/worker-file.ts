import {existsSync} from 'node:fs';

/**
 * URL of the JavaScript file of a worker thread: beside the importing module, in the library as in the bundle. When
 * run from the TypeScript sources, the file of the last build.
 */
export function workerFile(name: string, importer: string): URL {
	const beside = new URL(name, importer);
	if (!importer.endsWith('.ts') || existsSync(beside)) return beside;
	return new URL(beside.href.replace('/src/', '/dist/'));
}
