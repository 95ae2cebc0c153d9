import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {Base64Error, base64Length, decodeBase64, encodeBase64} from '../../src/shared/base64.js';

const CANONICAL = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

const SYMBOLS = [
	...'ABQRgw019+/'.split(''),
	'=',
	'-',
	'_',
	' ',
	'\n',
	'!',
	'\0',
	'\x7f',
	'é',
	'\u0141',
	'\u013D',
	'\u{1F600}',
];

const bytes = fc.uint8Array({maxLength: 100});

/** Valid base64 in which a few symbols were replaced, removed or added. */
const mutated = fc
	.tuple(
		bytes,
		fc.array(fc.tuple(fc.nat(140), fc.nat(1), fc.constantFrom('', ...SYMBOLS)), {minLength: 1, maxLength: 3}),
	)
	.map(([original, edits]) =>
		edits.reduce((text, [place, removed, added]) => {
			const at = place % (text.length + 1);
			return text.slice(0, at) + added + text.slice(at + removed);
		}, Buffer.from(original).toString('base64')),
	);

const hosts: [string, <T>(run: () => T) => T][] = [
	['with Buffer', run => run()],
	['without Buffer', withoutBuffer],
];

describe.each(hosts)('%s', (_, host) => {
	test('bytes are encoded as Node encodes them, and come back', () => {
		fc.assert(
			fc.property(bytes, original => {
				const text = host(() => encodeBase64(original));
				expect(text).toBe(Buffer.from(original).toString('base64'));
				expect(text).toHaveLength(base64Length(original.length));
				expect([...host(() => decodeBase64(text))]).toEqual([...original]);
			}),
		);
	});

	test('a text is accepted if and only if it is canonical', () => {
		fc.assert(
			fc.property(
				fc.oneof(
					mutated,
					fc.array(fc.constantFrom(...SYMBOLS), {maxLength: 9}).map(s => s.join('')),
				),
				text => {
					const expected = CANONICAL.test(text) ? Buffer.from(text, 'base64').toString('hex') : 'refused';
					expect(host(() => decodedOrRefused(text))).toBe(expected);
				},
			),
			{numRuns: 2000},
		);
	});

	test.each([
		['!!!', 'Invalid symbol 33, offset 0.'],
		['!!!!', 'Invalid symbol 33, offset 0.'],
		['AAAA\n', 'Invalid symbol 10, offset 4.'],
		['AA A', 'Invalid symbol 32, offset 2.'],
		['AA-_', 'Invalid symbol 45, offset 2.'],
		['AAA_', 'Invalid symbol 95, offset 3.'],
		['\u0141AAA', 'Invalid symbol 321, offset 0.'],
		['AAAé', 'Invalid symbol 233, offset 3.'],
		['eA', 'Invalid padding'],
		['eA=', 'Invalid padding'],
		['AAAAeHg', 'Invalid padding'],
		['=', 'Invalid symbol 61, offset 0.'],
		['A=', 'Invalid symbol 61, offset 1.'],
		['A===', 'Invalid symbol 61, offset 1.'],
		['AA=A', 'Invalid symbol 61, offset 2.'],
		['AAAA=', 'Invalid symbol 61, offset 4.'],
		['YQ==YQ==', 'Invalid symbol 61, offset 2.'],
		['AAAA====', 'Invalid symbol 61, offset 4.'],
		['YR==', 'Invalid last symbol 82, offset 1.'],
		['AAAAYWJ=', 'Invalid last symbol 74, offset 6.'],
	])('%j is refused: %s', (text, message) => {
		expect(() => host(() => decodeBase64(text))).toThrow(new Base64Error(message));
	});

	test('of the last symbols those with stray bits are refused', () => {
		const texts = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
			.split('')
			.flatMap(symbol => [`x${symbol}==`, `xx${symbol}=`, `xxx${symbol}`]);
		const accepted = texts.filter(text => host(() => decodedOrRefused(text)) !== 'refused');
		expect(accepted).toEqual(texts.filter(text => CANONICAL.test(text)));
	});

	test('a megabyte comes back, and one wrong symbol in it is found', () => {
		const original = Uint8Array.from({length: 1024 * 1024}, (_value, index) => (index * 7919) >> 3);
		const text = host(() => encodeBase64(original));
		expect(
			Buffer.compare(
				host(() => decodeBase64(text)),
				original,
			),
		).toBe(0);
		const wrong = `${text.slice(0, 1_000_000)}*${text.slice(1_000_001)}`;
		expect(() => host(() => decodeBase64(wrong))).toThrow(new Base64Error('Invalid symbol 42, offset 1000000.'));
	});
});

test('only the bytes of a view are encoded', () => {
	const view = new Uint8Array([1, 2, 3, 4, 5]).subarray(1, 3);
	expect([encodeBase64(view), withoutBuffer(() => encodeBase64(view))]).toEqual(['AgM=', 'AgM=']);
});

function decodedOrRefused(text: string): string {
	try {
		return Array.from(decodeBase64(text), byte => byte.toString(16).padStart(2, '0')).join('');
	} catch (error) {
		if (error instanceof Base64Error) return 'refused';
		throw error;
	}
}

function withoutBuffer<T>(run: () => T): T {
	const {Buffer: saved} = globalThis;
	try {
		Reflect.deleteProperty(globalThis, 'Buffer');
		return run();
	} finally {
		globalThis.Buffer = saved;
	}
}
