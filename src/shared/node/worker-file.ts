import {existsSync} from 'node:fs';
import {Worker, type WorkerOptions} from 'node:worker_threads';
import {WORKER_CODE} from './worker-code.js';

/**
 * Starts a worker thread, whose program has to be JavaScript: a file beside the module that starts it, in the library as in
 * the command, or its text in a program that was bundled. When run from the TypeScript sources, the file of the last build.
 */
export function startWorker(name: string, moduleUrl: string | undefined, options: WorkerOptions = {}): Worker {
	const file = moduleUrl === undefined ? undefined : findWorkerFile(name, moduleUrl);
	const code = WORKER_CODE[name];
	if (code !== undefined && (file === undefined || !existsSync(file)))
		return new Worker(code, {...options, eval: true});
	return new Worker(file ?? name, options);
}

function findWorkerFile(name: string, moduleUrl: string): URL {
	const beside = new URL(name, moduleUrl);
	if (!moduleUrl.endsWith('.ts') || existsSync(beside)) return beside;
	return new URL(beside.href.replace('/src/', '/dist/'));
}
