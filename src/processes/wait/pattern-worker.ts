// Worker thread: a regular expression that never ends can be terminated with the thread.
import {parentPort} from 'node:worker_threads';
import {THREAD_READY} from '../../shared/node/thread-ready.js';
import type {FromPatternWorker, PatternMatch, ToPatternWorker} from './pattern-messages.js';

/** Characters of a match and its groups, which may overlap. */
const MAX_MATCH_CHARS = 1024 * 1024;

parentPort!.on('message', (work: ToPatternWorker) => {
	// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
	parentPort!.postMessage(answer(work));
});
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort!.postMessage(THREAD_READY);

function answer(work: ToPatternWorker): FromPatternWorker {
	try {
		if (work.kind === 'filter') return {kind: 'filter', kept: filterLines(new RegExp(work.pattern), work.text)};
		return {kind: 'match', match: findMatch(new RegExp(work.pattern, work.flags), work.bytes)};
	} catch (error) {
		// Some expressions turn out to be too large only when they are used.
		return {kind: 'failed', message: (error as Error).message};
	}
}

function filterLines(pattern: RegExp, text: string): number[] {
	return text.split('\n').flatMap((line, index) => (pattern.test(line) ? [index] : []));
}

function findMatch(pattern: RegExp, bytes: Uint8Array): PatternMatch | undefined {
	const match = pattern.exec(decodeStart(bytes));
	if (!match) return undefined;
	if (match.reduce((sum, group) => sum + (group?.length ?? 0), 0) > MAX_MATCH_CHARS) {
		throw new RangeError('its groups match too much');
	}
	const groups = match.slice(1).map(group => group ?? null);
	const {0: text, index} = match;
	return {text, groups, index, end: countBytes(bytes, index + text.length)};
}

/** The least number of bytes with which so many characters are complete: binary search. */
function countBytes(bytes: Uint8Array, characters: number): number {
	let low = 0;
	let high = bytes.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (decodeStart(bytes.subarray(0, middle)).length < characters) low = middle + 1;
		else high = middle;
	}
	return low;
}

/** Without a character at the end that is not complete. */
function decodeStart(bytes: Uint8Array): string {
	return new TextDecoder('utf-8', {ignoreBOM: true}).decode(bytes, {stream: true});
}
