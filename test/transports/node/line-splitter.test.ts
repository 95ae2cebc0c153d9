import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {LineSplitter} from '../../../src/transports/node/stdio.js';

/** Pushes `data` in pieces cut at the given places. */
function split(splitter: LineSplitter, data: Buffer, cuts: readonly number[]): string[] {
	const places = [...new Set(cuts.map(cut => cut % (data.length + 1)))].sort((a, b) => a - b);
	const lines: Buffer[] = [];
	let from = 0;
	for (const to of [...places, data.length]) {
		lines.push(...splitter.push(data.subarray(from, to)));
		from = to;
	}
	return lines.map(line => line.toString('latin1'));
}

/** Bytes without a newline, and without a final carriage return, which belongs to the terminator. */
const line = fc.uint8Array({maxLength: 40}).map(bytes =>
	Buffer.from(bytes.map(byte => (byte === 0x0a ? 0x2e : byte)))
		.toString('latin1')
		.replace(/\r$/, '.'),
);
const terminated = fc.tuple(line, fc.constantFrom('\n', '\r\n'));
const cuts = fc.array(fc.nat(), {maxLength: 20});

test('lines come out as they went in, however the stream is cut', () => {
	fc.assert(
		fc.property(fc.array(terminated, {maxLength: 20}), line, cuts, (lines, rest, places) => {
			const data = Buffer.from(lines.flat().join('') + rest, 'latin1');
			const splitter = new LineSplitter(1000);
			expect(split(splitter, data, places)).toEqual(lines.map(([text]) => text));
			expect(splitter.overflowed).toBe(false);
			expect(split(splitter, Buffer.from('\n'), [])).toEqual([rest]);
		}),
		{numRuns: 300},
	);
});

test('a line may be as long as the limit and not a byte longer, however the stream is cut', () => {
	fc.assert(
		fc.property(fc.integer({min: 0, max: 20}), cuts, (extra, places) => {
			const splitter = new LineSplitter(10);
			const lines = split(splitter, Buffer.from(`ok\n${'x'.repeat(extra)}\nmore\n`), places);
			expect(lines).toEqual(extra <= 10 ? ['ok', 'x'.repeat(extra), 'more'] : ['ok']);
			expect(splitter.overflowed).toBe(extra > 10);
		}),
		{numRuns: 300},
	);
});

test('an unfinished line that is too long overflows before its end is seen', () => {
	const splitter = new LineSplitter(3);
	expect([splitter.push(Buffer.from('abc')), splitter.overflowed]).toEqual([[], false]);
	expect([splitter.push(Buffer.from('d')), splitter.overflowed]).toEqual([[], true]);
	expect(splitter.push(Buffer.from('\nnext\n'))).toEqual([]);
});

test('a carriage return inside a line stays', () => {
	expect(new LineSplitter(10).push(Buffer.from('a\rb\r\r\n')).map(String)).toEqual(['a\rb\r']);
});
