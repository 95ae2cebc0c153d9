import {setTimeout} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {ObservedProcess} from '../../src/agent-tools/observed-process.js';
import type {ExitStatus, ProcessHandle, ReadResult, StreamEvent} from '../../src/client/process/process-handle.js';
import {chunk, closed, exited, output} from '../helpers/process-events.js';

const CLOSE_GRACE_MS = 20;
const EXIT: ExitStatus = {exitCode: 3, sandboxDenied: false, reason: undefined};
const lagged = (missed: number, afterSeq: number): StreamEvent => ({kind: 'lagged', missed, afterSeq});

/** A process with this story; late readers find this page. */
async function observed(story: Iterable<StreamEvent> | AsyncIterable<StreamEvent>, page: Partial<ReadResult> = {}) {
	const pages: unknown[] = [];
	const handle = {
		exited: Promise.resolve(EXIT),
		async *events() {
			yield* story;
		},
		read: async (options: unknown) => {
			pages.push(options);
			return {chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false, failure: null, ...page};
		},
	} as unknown as ProcessHandle;
	const process = new ObservedProcess(handle, {
		closeGraceMs: CLOSE_GRACE_MS,
		toExitCode: ({exitCode}) => exitCode,
		onOutput: () => {},
	});
	await process.finished;
	const text = new TextDecoder().decode(process.takeUnread().markedBytes());
	expect(new TextDecoder().decode(process.transcript.markedBytes())).toBe(text);
	return {text, state: process.state, pages};
}

test('a process is over when its output is closed', async () => {
	const {text, state} = await observed([output(1, 'a'), output(2, 'b'), exited(3, EXIT.exitCode), closed(4)]);
	expect([text, state]).toEqual(['ab', {kind: 'closed', exitCode: 3}]);
});

async function* outputBehindStall(): AsyncGenerator<StreamEvent> {
	yield exited(1, EXIT.exitCode);
	// The event loop comes back to both the end of the grace and the output, in this order.
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * CLOSE_GRACE_MS);
	await setTimeout(0);
	yield output(2, 'late');
	yield closed(3);
}

test('output that was there before the grace was over is told, also by a program that was kept from running', async () => {
	const {text, state} = await observed(outputBehindStall());
	expect([text, state]).toEqual(['late', {kind: 'closed', exitCode: 3}]);
});

test('what was missed by being late is read again, and nothing is taken twice', async () => {
	const story = [output(1, 'a'), lagged(2, 1), output(4, 'd'), exited(5, EXIT.exitCode), closed(6)];
	const {text, pages} = await observed(story, {chunks: [chunk(2, 'b'), chunk(3, 'c'), chunk(4, 'd')]});
	expect([text, pages]).toEqual(['abcd', [{afterSeq: 1}]]);
});

test('what is not kept any more is counted', async () => {
	const story = [output(1, 'a'), lagged(2, 1), output(4, 'd'), exited(5, EXIT.exitCode), closed(6)];
	const {text} = await observed(story, {chunks: [chunk(3, 'c')], missedBytes: 7});
	expect(text).toBe('a\n... 7 bytes omitted ...\ncd');
});

test('a hole that a server does not speak of is seen all the same', async () => {
	const story = [output(1, 'a'), lagged(2, 1), output(4, 'd'), exited(5, EXIT.exitCode), closed(6)];
	const {text} = await observed(story, {chunks: [chunk(3, 'c')]});
	expect(text).toBe('a\n... 1 bytes omitted ...\ncd');
	expect((await observed(story)).text).toBe('a\n... 1 bytes omitted ...\nd');
});

test('an exit among what was missed is known', async () => {
	const story = [lagged(2, 0), output(3, 'late'), closed(4)];
	const {text, state} = await observed(story, {chunks: [chunk(1, 'a')], exited: true, exitCode: 3});
	expect([text, state]).toEqual(['alate', {kind: 'closed', exitCode: 3}]);
});

test('output lost with a connection is counted where it belongs', async () => {
	const gap: StreamEvent = {kind: 'gap', afterSeq: 1, throughSeq: 3, missedBytes: 5};
	const {text} = await observed([output(1, 'a'), gap, output(4, 'd'), exited(5, EXIT.exitCode), closed(6)]);
	expect(text).toBe('a\n... 5 bytes omitted ...\nd');
});

test('a lost process is one that failed, unless its exit was known', async () => {
	const failed: StreamEvent = {kind: 'failed', message: 'gone'};
	expect((await observed([failed])).state).toEqual({kind: 'failed', message: 'gone'});
	expect((await observed([exited(1, EXIT.exitCode), failed])).state).toEqual({kind: 'exited', exitCode: 3});
	expect((await observed([output(1, 'a')])).state).toEqual({kind: 'failed', message: 'the process was lost'});
});
