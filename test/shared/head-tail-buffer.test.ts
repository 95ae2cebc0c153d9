import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {HeadTailBuffer} from '../../src/shared/head-tail-buffer.js';

const chunks = fc.array(fc.uint8Array({maxLength: 30}), {maxLength: 12});
const cap = fc.integer({min: 0, max: 40});

function filled(size: number, pieces: readonly Uint8Array[]): HeadTailBuffer {
	const buffer = new HeadTailBuffer(size);
	for (const piece of pieces) buffer.push(piece);
	return buffer;
}

/** Reference model: the expected content, computed from the whole stream. */
function expected(size: number, pieces: readonly Uint8Array[]): {bytes: Buffer; omitted: number; total: number} {
	const all = Buffer.concat(pieces);
	const head = all.subarray(0, Math.floor(size / 2));
	const rest = all.subarray(head.length);
	const tail = rest.subarray(Math.max(0, rest.length - (size - Math.floor(size / 2))));
	return {bytes: Buffer.concat([head, tail]), omitted: rest.length - tail.length, total: all.length};
}

const seen = (buffer: HeadTailBuffer) => ({
	bytes: Buffer.from(buffer.bytes()),
	omitted: buffer.omitted,
	total: buffer.total,
});

test('a buffer holds the first half and the newest rest of what was pushed, in whatever pieces', () => {
	fc.assert(
		fc.property(cap, chunks, (size, pieces) => {
			expect(seen(filled(size, pieces))).toEqual(expected(size, pieces));
		}),
	);
});

test('merging a later buffer is the same as pushing what it was given', () => {
	fc.assert(
		fc.property(cap, chunks, chunks, chunks, (size, first, second, third) => {
			const merged = filled(size, first);
			merged.merge(filled(size, second));
			for (const piece of third) merged.push(piece);
			expect(seen(merged)).toEqual(expected(size, [...first, ...second, ...third]));
		}),
	);
});

test('taking empties a buffer, and what comes later begins a new head', () => {
	fc.assert(
		fc.property(cap, chunks, chunks, (size, first, second) => {
			const buffer = filled(size, first);
			const taken = buffer.take();
			for (const piece of second) buffer.push(piece);
			expect([seen(taken), seen(buffer)]).toEqual([expected(size, first), expected(size, second)]);
		}),
	);
});

test('a pushed chunk may be changed afterwards', () => {
	const chunk = Buffer.from('ab');
	const buffer = filled(4, [chunk, chunk]);
	chunk.fill('x');
	expect(Buffer.from(buffer.bytes()).toString()).toBe('abab');
});

test.each([
	[10, ['0123456789', 'ab'], '01234\n... 2 bytes omitted ...\n789ab'],
	[10, ['0123456789'], '0123456789'],
	[1, ['abc'], '\n... 2 bytes omitted ...\nc'],
	[0, ['abc'], '\n... 3 bytes omitted ...\n'],
])('a buffer of %i bytes that was given %j reads %j', (size, pieces, text) => {
	const buffer = filled(
		size,
		pieces.map(piece => Buffer.from(piece)),
	);
	expect(Buffer.from(buffer.markedBytes()).toString()).toBe(text);
});

test('bytes that never arrived are counted, and missing where they belong', () => {
	const buffer = filled(10, [Buffer.from('ab')]);
	buffer.skip(5);
	buffer.push(Buffer.from('cd'));
	expect(Buffer.from(buffer.take().markedBytes()).toString()).toBe('ab\n... 5 bytes omitted ...\ncd');
	buffer.push(Buffer.from('0123456789'));
	expect([Buffer.from(buffer.bytes()).toString(), buffer.omitted]).toEqual(['0123456789', 0]);
});

test('three million bytes in a default buffer leave 1,951,429 out', () => {
	const buffer = new HeadTailBuffer();
	for (let left = 3_000_005; left > 0; left -= 8192) buffer.push(new Uint8Array(Math.min(left, 8192)));
	expect([buffer.omitted, buffer.bytes().length, buffer.total]).toEqual([1_951_429, 1024 * 1024, 3_000_005]);
});

test('buffers of different sizes cannot be merged', () => {
	expect(() => new HeadTailBuffer(4).merge(new HeadTailBuffer(5))).toThrow('cannot merge a buffer of 5 bytes into 4');
});
