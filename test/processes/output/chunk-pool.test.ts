import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {
	copyChunk,
	keepBlock,
	MAX_CHUNK_BYTES,
	MAX_READ_BYTES,
	releaseChunk,
	takeBlock,
} from '../../../src/processes/output/chunk-pool.js';

const source = Buffer.alloc(MAX_CHUNK_BYTES);

/** A chunk full of one byte, through the buffer that every reader shares. */
function keep(length: number, byte: number): Uint8Array {
	source.fill(byte, 0, length);
	return copyChunk(source, length);
}

test('a chunk keeps its bytes until it is released, whatever is kept and released beside it', () => {
	const length = fc.oneof(fc.integer({min: 1, max: 100}), fc.integer({min: 32 * 1024 - 1, max: MAX_CHUNK_BYTES}));
	const step = fc.oneof(fc.record({keep: length}), fc.record({release: fc.nat(1000)}));
	fc.assert(
		fc.property(fc.array(step, {maxLength: 40}), steps => {
			const kept: {chunk: Uint8Array; length: number; byte: number}[] = [];
			for (const [byte, next] of steps.entries()) {
				if ('keep' in next) {
					kept.push({chunk: keep(next.keep, byte), length: next.keep, byte});
				} else if (kept.length > 0) {
					const [gone] = kept.splice(next.release % kept.length, 1);
					releaseChunk(gone!.chunk);
				}
				for (const {chunk, length: expected, byte: value} of kept) {
					expect([chunk.length, chunk[0], chunk[expected - 1]]).toEqual([expected, value, value]);
				}
			}
			for (const {chunk} of kept) releaseChunk(chunk);
		}),
	);
});

test('small chunks take no block, which would hold the memory of a large one for each', () => {
	const block = keep(MAX_READ_BYTES, 1);
	releaseChunk(block);
	const small = [1, 100, 10_000, 30_000].map(length => keep(length, 1));
	expect(small.filter(({buffer}) => buffer === block.buffer)).toEqual([]);
	expect(keep(MAX_READ_BYTES, 2).buffer).toBe(block.buffer);
});

test('the memory of a large chunk is used again', () => {
	const first = keep(MAX_READ_BYTES, 1);
	releaseChunk(first);
	expect(keep(40_000, 2).buffer).toBe(first.buffer);
});

test.each([
	['part of something larger', Buffer.from(new ArrayBuffer(MAX_READ_BYTES * 3), 0, MAX_READ_BYTES * 2)],
	['the later part of a block', Buffer.from(new ArrayBuffer(MAX_READ_BYTES), 1000, 40_000)],
	['small', Buffer.from(new ArrayBuffer(MAX_READ_BYTES), 0, 1000)],
])('memory that is %s is not taken for a block', (_, foreign) => {
	releaseChunk(foreign);
	expect(keep(MAX_READ_BYTES, 3).buffer).not.toBe(foreign.buffer);
});

test('a chunk takes at most twice the memory it counts', () => {
	for (const length of [32 * 1024, 40_000, MAX_READ_BYTES, MAX_READ_BYTES + 1, 100_000, MAX_CHUNK_BYTES]) {
		for (const chunk of [keep(length, 1), keepBlock(takeBlock(MAX_CHUNK_BYTES), length)]) {
			expect(chunk.length).toBe(length);
			expect(chunk.buffer.byteLength).toBeLessThanOrEqual(2 * length);
			releaseChunk(chunk);
		}
	}
});

test('a block that little was read into is used again at once', () => {
	const block = takeBlock(MAX_CHUNK_BYTES);
	block.fill(7);
	const chunk = keepBlock(block, 1000);
	expect(takeBlock(MAX_CHUNK_BYTES).buffer).toBe(block.buffer);
	expect([...new Set(chunk)]).toEqual([7]);
});
