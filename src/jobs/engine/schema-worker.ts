// Worker thread: schemas of clients become code, which may run for ever; it ends with the thread.
import {parentPort} from 'node:worker_threads';
import {THREAD_READY} from '../../shared/node/thread-ready.js';
import {createCheck, type ObjectCheck} from './ajv-check.js';
import type {FromSchemaWorker, ToSchemaWorker} from './schema-messages.js';

/** Compiled schemas that a thread keeps. */
const MAX_KEPT_CHECKS = 8;

/** By the text of the schema; the one that was used last is the last one. */
const checks = new Map<string, ObjectCheck>();

parentPort!.on('message', (work: ToSchemaWorker) => {
	// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
	parentPort!.postMessage(answer(work));
});
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort!.postMessage(THREAD_READY);

function answer({schema, result}: ToSchemaWorker): FromSchemaWorker {
	try {
		const check = checkOf(schema);
		return {kind: 'checked', problem: result === undefined ? undefined : check(JSON.parse(result) as object)};
	} catch (error) {
		return {kind: 'failed', message: (error as Error).message};
	}
}

function checkOf(schema: string): ObjectCheck {
	const check = checks.get(schema) ?? createCheck(JSON.parse(schema) as object);
	checks.delete(schema);
	checks.set(schema, check);
	if (checks.size > MAX_KEPT_CHECKS) checks.delete(checks.keys().next().value!);
	return check;
}
