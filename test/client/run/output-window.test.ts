import {expect, test} from 'vitest';
import {OutputWindow} from '../../../src/client/run/output-window.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The text, cut into pieces of this many bytes, numbered from 1. */
function windowOf(all: Uint8Array, size: number, maxCharacters = 1000): OutputWindow {
	const window = new OutputWindow(maxCharacters);
	for (let at = 0; at < all.length; at += size) {
		window.push(all.subarray(at, at + size), {seq: at / size + 1, offset: 0});
	}
	return window;
}

test.each([1, 2, 3, 5, 7, 100])('the place behind each character is right in pieces of %i bytes', size => {
	const text = 'aé€😀z'.repeat(5);
	const all = bytes(text);
	const window = windowOf(all, size);
	expect(window.text).toBe(text);
	for (let length = 1; length <= text.length; length++) {
		// The first half of a pair of surrogates is no place in the bytes.
		if (/[\uD800-\uDBFF]$/.test(text.slice(0, length))) continue;
		const {seq, offset} = window.positionAfter(length);
		expect((seq - 1) * size + offset).toBe(bytes(text.slice(0, length)).length);
	}
});

test('bytes that are not UTF-8 are counted as they are', () => {
	const all = Uint8Array.from([0x61, 0xe2, 0x82, 0x62, 0xff, 0x63]);
	const window = windowOf(all, 100);
	expect(window.text).toBe('a\uFFFDb\uFFFDc');
	expect([1, 2, 3, 4, 5].map(length => window.positionAfter(length).offset)).toEqual([1, 3, 4, 5, 6]);
});

test('places stay right when the beginning has left the window', () => {
	const text = '€uro '.repeat(50);
	const window = windowOf(bytes(text), 3, 20);
	expect(window.text).toBe(text.slice(-20));
	const {seq, offset} = window.positionAfter(6);
	expect((seq - 1) * 3 + offset).toBe(bytes(text.slice(0, text.length - 14)).length);
	expect(() => window.positionAfter(21)).toThrow(RangeError);
});

test('after a gap nothing of the time before is left', () => {
	const window = windowOf(bytes('before€').subarray(0, 7), 100);
	window.clear();
	window.push(bytes('after'), {seq: 9, offset: 2});
	expect([window.text, window.positionAfter(3)]).toEqual(['after', {seq: 9, offset: 5}]);
});
