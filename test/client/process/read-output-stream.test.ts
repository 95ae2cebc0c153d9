import {expect, test} from 'vitest';
import type {StreamEvent} from '../../../src/client/process/process-handle.js';
import {ProcessLostError, type ReadOptions, type ReadResult} from '../../../src/client/process/process-handle.js';
import {readOutputStream} from '../../../src/client/process/read-output-stream.js';
import {chunk, closed, exited, output} from '../../helpers/process-events.js';

const lagged: StreamEvent = {kind: 'lagged', missed: 2, afterSeq: 1};
const end: readonly StreamEvent[] = [exited(5), closed(6)];

const NOTHING_KEPT = {chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false, failure: null};

/** The pieces of a process with this story, a gap as the number it tells; late readers find this page. */
async function pieces(story: readonly StreamEvent[], page: Partial<ReadResult> = {}): Promise<unknown[]> {
	const source = {
		async *events() {
			yield* story;
		},
		read: async () => ({...NOTHING_KEPT, ...page}),
	};
	const seen: unknown[] = [];
	for await (const piece of readOutputStream(source))
		seen.push(piece.kind === 'gap' ? piece.missedBytes : Buffer.from(piece.bytes).toString());
	return seen;
}

test('output comes piece by piece, and each number once', async () => {
	expect(await pieces([output(1, 'a'), output(2, 'b'), output(2, 'b'), ...end])).toEqual(['a', 'b']);
});

test('a gap stands where it was, and what it covers is not told after it', async () => {
	const gap: StreamEvent = {kind: 'gap', afterSeq: 1, throughSeq: 3, missedBytes: 5};
	expect(await pieces([output(1, 'a'), gap, output(3, 'c'), output(4, 'd'), ...end])).toEqual(['a', 5, 'd']);
});

test('what was missed by being late is read again, and only what is not kept is a gap', async () => {
	const story = [output(1, 'a'), lagged, output(4, 'd'), ...end];
	const kept = [chunk(2, 'b'), chunk(3, 'c'), chunk(4, 'd')];
	expect(await pieces(story, {chunks: kept, missedBytes: 0})).toEqual(['a', 'b', 'c', 'd']);
	expect(await pieces(story, {chunks: kept.slice(1), missedBytes: 7})).toEqual(['a', 7, 'c', 'd']);
});

test('a hole that a server does not speak of is seen, but for the number of an exit', async () => {
	const story = [output(1, 'a'), lagged, output(4, 'd')];
	expect(await pieces(story, {chunks: [chunk(3, 'c')]})).toEqual(['a', undefined, 'c', 'd']);
	expect(await pieces(story, {chunks: [chunk(3, 'c')], exited: true})).toEqual(['a', 'c', 'd']);
	expect(await pieces(story, {chunks: []})).toEqual(['a', undefined, 'd']);
});

test('a process that is lost fails the output, however that is learnt', async () => {
	await expect(pieces([output(1, 'a'), {kind: 'failed', message: 'gone'}])).rejects.toEqual(
		new ProcessLostError('gone'),
	);
	await expect(pieces([lagged], {failure: 'gone'})).rejects.toEqual(new ProcessLostError('gone'));
});

test('much that was missed by being late is read in pages, up to what comes live', async () => {
	const asked: unknown[] = [];
	const kept = [chunk(2, 'b'), chunk(3, 'c'), chunk(4, 'd')];
	const source = {
		async *events(): AsyncGenerator<StreamEvent> {
			yield output(1, 'a');
			yield {kind: 'lagged', missed: 4, afterSeq: 1};
			yield* [exited(5), closed(6)];
		},
		read: async ({afterSeq, maxBytes}: ReadOptions = {}) => {
			asked.push([afterSeq, maxBytes! > 0]);
			return {...NOTHING_KEPT, exited: true, chunks: kept.filter(({seq}) => seq > afterSeq!).slice(0, 2)};
		},
	};
	const seen: unknown[] = [];
	for await (const piece of readOutputStream(source)) seen.push(piece.kind === 'gap' ? piece : piece.seq);
	expect(seen).toEqual([1, 2, 3, 4]);
	expect(asked).toEqual([
		[1, true],
		[3, true],
		[4, true],
	]);
});
