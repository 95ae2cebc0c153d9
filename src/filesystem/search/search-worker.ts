// Worker thread: it may block, and a regular expression that never ends can be terminated with the thread.
import {parentPort, workerData} from 'node:worker_threads';
import type {SearchRequest} from './query.js';
import {type FromWorker, MAX_UNCONFIRMED_BATCHES, type SearchError, type SearchMatch} from './search-messages.js';
import {searchTree} from './tree-search.js';

const MAX_BATCH_MATCHES = 200;
/** Longest time a match is buffered. */
const MAX_BATCH_MS = 50;
const MAX_ERRORS = 1000;

const {query, unconfirmed} = workerData as {query: SearchRequest; unconfirmed: Int32Array};

let batch: SearchMatch[] = [];
let batchedAt = performance.now();
let files = 0;
let matches = 0;
let truncated = false;
const errors: SearchError[] = [];

for (const finding of searchTree(query)) {
	if (finding.kind === 'file') files++;
	else if (finding.kind === 'error') recordError(finding);
	else if (matches < query.maxMatches) {
		matches++;
		batch.push(finding);
	} else {
		truncated = true;
		break;
	}
	if (batch.length >= MAX_BATCH_MATCHES || performance.now() - batchedAt > MAX_BATCH_MS) flush();
}
flush();
post({kind: 'done', summary: {files, matches, truncated, errors}});

function recordError({path, message}: SearchError): void {
	if (errors.length < MAX_ERRORS) errors.push({path, message});
}

function flush(): void {
	batchedAt = performance.now();
	if (batch.length === 0) return;
	for (
		let count = Atomics.load(unconfirmed, 0);
		count >= MAX_UNCONFIRMED_BATCHES;
		count = Atomics.load(unconfirmed, 0)
	) {
		Atomics.wait(unconfirmed, 0, count);
	}
	Atomics.add(unconfirmed, 0, 1);
	post({kind: 'matches', matches: batch});
	batch = [];
}

function post(message: FromWorker): void {
	// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
	parentPort!.postMessage(message);
}
