import {expect, test} from 'vitest';
import {EscapeDetector} from '../../src/cli/commands/run/attach/keyboard.js';
import {ScreenModes} from '../../src/cli/commands/run/attach/screen-modes.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function typed(...pieces: string[]): {passed: string; leaves: boolean} {
	const escapes = new EscapeDetector();
	const scanned = pieces.map(piece => escapes.scan(bytes(piece)));
	const passed = scanned.map(({bytes: some}) => new TextDecoder().decode(some)).join('');
	return {passed, leaves: scanned.some(({leaves}) => leaves)};
}

test.each([
	['~.', '', true],
	['ls\r~.', 'ls\r', true],
	['ls\n~.', 'ls\n', true],
	['ls ~.', 'ls ~.', false],
	['~~.', '~.', false],
	['~~', '~', false],
	['~x~.', '~x~.', false],
	['~\r~.', '~\r', true],
	['a~.b', 'a~.b', false],
])('of %j, %j is passed on', (text, passed, leaves) => {
	expect(typed(text)).toEqual({passed, leaves});
	expect(typed(...text.split(''))).toEqual({passed, leaves});
});

function endings(...pieces: string[]): string {
	const modes = new ScreenModes();
	for (const piece of pieces) modes.scan(bytes(piece));
	return modes.endings;
}

test.each([
	['nothing special', ''],
	['\u001B[?1049h', '\u001B[?1049l\u001B[0m'],
	['\u001B[?1049hdrawn\u001B[?1049l', ''],
	['\u001B[?25l', '\u001B[?25h\u001B[0m'],
	['\u001B[?25l\u001B[?25h', ''],
	['\u001B[?1000;1006h', '\u001B[?1000l\u001B[?1006l\u001B[0m'],
	['\u001B[?7l\u001B[31m', ''],
])('what %j leaves on is ended by %j', (output, expected) => {
	expect(endings(output)).toBe(expected);
	expect(endings(...output.split(''))).toBe(expected);
});
