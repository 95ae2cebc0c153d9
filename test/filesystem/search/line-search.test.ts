import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {LineSearch, MAX_TEXT_LENGTH} from '../../../src/filesystem/search/line-search.js';
import {compileContents} from '../../../src/filesystem/search/query.js';

function search(pattern: string, ...pieces: (string | Buffer)[]) {
	const lines = new LineSearch(compileContents({pattern, regex: true, ignoreCase: false}));
	return pieces.flatMap(piece => [...lines.search(Buffer.from(piece as string))]);
}

test('lines, columns and byte offsets count on from piece to piece', () => {
	expect(search('b+', 'aab\nx\n', 'é bb b\nnone\nb')).toEqual([
		{line: 1, column: 3, byteOffset: 2, text: 'aab'},
		{line: 3, column: 3, byteOffset: 9, text: 'é bb b'},
		{line: 5, column: 1, byteOffset: 19, text: 'b'},
	]);
});

test.each([
	['^', 'a\n\nb', [1, 2, 3]],
	['$', 'a\n\nb\n', [1, 2, 3]],
	['^$', '\n\na\n', [1, 2]],
	['x*', '\n', [1]],
	['a\\nb|b', 'a\nb\n', [2]],
	['[^x]+', 'ab\nxx\ncd', [1, 3]],
	['a[^]*', 'xa\nb\na', [1, 3]],
])('%s finds each line of %j that matches by itself, once', (pattern, text, lines) => {
	expect(search(pattern, text).map(({line}) => line)).toEqual(lines);
});

test('a match is found exactly in the lines that hold the text, wherever they are', () => {
	const line = fc.stringMatching(/^[abé\u{1f9be} ]{0,8}$/u);
	fc.assert(
		fc.property(fc.array(line), fc.constantFrom('a', 'ab', 'é', 'b ', '\u{1f9be}'), (lines, needle) => {
			const text = lines.join('\n');
			const found = [
				...new LineSearch(compileContents({pattern: needle, regex: false, ignoreCase: false})).search(
					Buffer.from(text),
				),
			];
			const expected = lines.flatMap((content, index) => (content.includes(needle) ? [index + 1] : []));
			expect(found.map(match => match.line)).toEqual(expected);
			for (const {line: number, column, byteOffset} of found) {
				expect(lines[number - 1]!.indexOf(needle)).toBe(column - 1);
				expect(Buffer.from(text).subarray(byteOffset).toString().startsWith(needle)).toBe(true);
			}
		}),
	);
});

test('text that is not UTF-8 is searched byte by byte', () => {
	expect(search('caf.', Buffer.from('caf\xe9\n', 'latin1'))).toMatchObject([{line: 1, column: 1, text: 'café'}]);
});

test('of a long line the part around the match is told', () => {
	const [match] = search('needle', `${'x'.repeat(5000)}needle${'y'.repeat(5000)}`);
	expect(match!.column).toBe(5001);
	expect(match!.text).toHaveLength(MAX_TEXT_LENGTH);
	expect(match!.text).toContain('needle');
});

test('plain text has no special characters', () => {
	for (const pattern of ['a.b', '(', '[x]', '\\d', '$^', 'a-b', '{1}', '*']) {
		const lines = new LineSearch(compileContents({pattern, regex: false, ignoreCase: false}));
		expect([...lines.search(Buffer.from(`no\n${pattern}\n`))].map(({line}) => line)).toEqual([2]);
	}
});
