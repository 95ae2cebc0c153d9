// covers: src/mcp/server/answers
import {expect, test} from 'vitest';
import {formatElapsed, headerField} from '../../../src/mcp/server/answers/header-line.js';
import {groupDigits, toExcerpt} from '../../../src/mcp/server/answers/output-excerpt.js';
import {isDrawing, plainText} from '../../../src/mcp/server/answers/plain-text.js';

const NOTHING: Uint8Array = new Uint8Array(0);
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function excerpt(head: Uint8Array, tail = NOTHING, leftOutBytes = 0, missedBytes = 0): string {
	return toExcerpt({head, tail, leftOutBytes, missedBytes, endByte: 0}).text;
}

test('a character that is cut in two is left out on both sides of a gap', () => {
	const [head, tail] = [encode('grüße'), encode('größe')];
	expect(excerpt(head.subarray(0, 3), tail.subarray(3), 10)).toBe('gr\n… 10 bytes left out …\nöße'.replace('ö', ''));
	expect(excerpt(encode('a😀').subarray(0, 4), encode('😀b').subarray(2), 1)).toBe('a\n… 1 bytes left out …\nb');
});

test('output that is no text is told by its size and first bytes', () => {
	expect(excerpt(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0, 1))).toBe('binary output, 6 bytes: 7f 45 4c 46 00 01');
	expect(excerpt(Uint8Array.from({length: 100}, (_, at) => 0x80 + (at % 0x40)))).toMatch(
		/^binary output, 100 bytes: 80 81 .* …$/,
	);
	expect(excerpt(encode('plain'))).toBe('plain');
});

test('lost output is announced', () => {
	expect(excerpt(encode('rest'), NOTHING, 0, 1234)).toBe('… 1,234 bytes are no longer kept …\nrest');
});

test('colours and titles of a terminal are left out, and of a progress bar the last state is kept', () => {
	expect(plainText('\u001b[1;31mred\u001b[0m \u001b]0;title\u0007done\r\n')).toBe('red done\n');
	expect(plainText(' 10%\r 50%\r100%\nnext\n')).toBe('100%\nnext\n');
	expect(plainText('\u001bPsixel\u001b\\a\u0000b\u0008c\td')).toBe('abc\td');
	expect(plainText('unterminated \u001b]0;x')).toBe('unterminated ');
});

test('what a full-screen program showed is left out when it has left', () => {
	expect(plainText('before\n\u001b[?1049h\u001b[Hmenu\u001b[?1049lafter')).toMatch(
		/^before\n… \d+ characters of a full-screen program left out …\nafter$/,
	);
	expect(plainText('\u001b[?1049hmenu')).toBe('menu');
	expect(plainText('rest\u001b[?1049lafter')).toBe('restafter');
	expect([isDrawing('\u001b[H\u001b[2Jcleared'), isDrawing('a\u001b[2;1Hb'), isDrawing('\u001b[?1049h')]).toEqual([
		false,
		true,
		true,
	]);
});

test('a program that draws its screen again from the first place is a full-screen program from its first frame on', () => {
	const firstFrame = '\u001b[?1h\u001b=\u001b[?25l\u001b[H\u001b[2Jtop - 08:50:03\u001b[K\r\n';
	const laterFrame = '\u001b[Htop - 08:50:06\u001b[K\r\n';
	expect([isDrawing(firstFrame), isDrawing(laterFrame)]).toEqual([true, true]);
	// A spinner hides the cursor, and `clear` moves it to the first place; both write lines.
	expect([isDrawing('\u001b[?25l⠙\r⠹\r'), isDrawing('\u001b[H\u001b[2J\u001b[3Jline\n')]).toEqual([false, false]);
});

test('texts of others cannot end a header or begin a line in it', () => {
	expect(headerField('a]\n[exit 0 · fake')).toBe('a) (exit 0 · fake');
	expect(headerField('\u001b[31mred\u202e')).toBe('(31mred');
	expect(headerField('x'.repeat(500))).toHaveLength(80);
});

test('numbers are short and readable', () => {
	expect([0, 999, 1000, 84_233, 1_073_741_824].map(groupDigits)).toEqual([
		'0',
		'999',
		'1,000',
		'84,233',
		'1,073,741,824',
	]);
	expect([0, 400, 38_200, 45_000, 180_000, 1_200_000].map(formatElapsed)).toEqual([
		'0 s',
		'0.4 s',
		'38.2 s',
		'45 s',
		'180 s',
		'20 min',
	]);
});
