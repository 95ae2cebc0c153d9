import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {DeltaSplitter} from '../../src/agent-tools/delta-splitter.js';

function pieces(chunks: readonly Uint8Array[], largest: number): Uint8Array[] {
	const splitter = new DeltaSplitter(largest);
	return [...chunks.flatMap(chunk => splitter.split(chunk)), ...splitter.flush()];
}

const slices = (bytes: Uint8Array, size: number) =>
	Array.from({length: Math.ceil(bytes.length / size)}, (_, index) => bytes.subarray(index * size, (index + 1) * size));

test('any text cut anywhere comes in pieces that are each whole characters', () => {
	const text = fc.string({unit: fc.constantFrom('a', 'é', '€', '😀'), maxLength: 60});
	fc.assert(
		fc.property(text, fc.integer({min: 1, max: 9}), fc.integer({min: 4, max: 12}), (said, size, largest) => {
			const found = pieces(slices(Buffer.from(said), size), largest);
			const strict = new TextDecoder('utf-8', {fatal: true});
			expect(found.map(piece => strict.decode(piece)).join('')).toBe(said);
			expect(found.every(({length}) => length > 0 && length <= largest)).toBe(true);
		}),
	);
});

test('any bytes pass unchanged, and no more than three of them are held back', () => {
	const chunks = fc.array(fc.uint8Array({minLength: 1, maxLength: 20}), {maxLength: 10});
	fc.assert(
		fc.property(chunks, fc.integer({min: 4, max: 12}), (given, largest) => {
			const splitter = new DeltaSplitter(largest);
			let out = 0;
			let held = 0;
			for (const chunk of given) {
				out += splitter.split(chunk).reduce((sum, {length}) => sum + length, 0);
				held = given.slice(0, given.indexOf(chunk) + 1).reduce((sum, {length}) => sum + length, 0) - out;
				expect(held).toBeLessThanOrEqual(3);
			}
			expect(splitter.flush().reduce((sum, {length}) => sum + length, 0)).toBe(held);
			expect(Buffer.concat(pieces(given, largest))).toEqual(Buffer.concat(given));
		}),
	);
});

test('a large chunk is cut at 8,192 bytes, or in front of the character there', () => {
	const found = pieces([Buffer.from(`${'x'.repeat(8191)}é${'y'.repeat(8192)}`)], 8192);
	expect(found.map(({length}) => length)).toEqual([8191, 8192, 2]);
});
