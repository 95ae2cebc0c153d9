import type {Terminal} from '@xterm/headless';
import {coreOf, type XtermCore} from './xterm-core.js';

/** Commands whose text xterm keeps and interprets, by their number, and the longest text that a program needs. */
export const OSC_COMMANDS = [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112];
export const MAX_OSC_LENGTH = 4096;

/** Size and parser of a terminal, which both packages of xterm have. */
type ParsingTerminal = Pick<Terminal, 'rows' | 'cols' | 'parser'>;

/** Sequences that move lines between the cursor or the top of the scroll region and its bottom, by their final byte. */
const LINE_MOVES = {
	S: {name: 'scrollUp', isUp: true, fromCursor: false},
	T: {name: 'scrollDown', isUp: false, fromCursor: false},
	L: {name: 'insertLines', isUp: false, fromCursor: true},
	M: {name: 'deleteLines', isUp: true, fromCursor: true},
} as const;
/** Sequences that move the cursor from one tab stop to the next. */
const TAB_MOVES = {I: 'cursorForwardTab', Z: 'cursorBackwardTab'} as const;

/**
 * Makes the time of each sequence depend on the size of the terminal only. xterm executes these sequences as often as their
 * parameter says, up to 2^31 times: a few bytes of output would occupy its thread for minutes.
 */
export function limitRepetitions(terminal: ParsingTerminal): void {
	const {parser} = terminal;
	const core = coreOf(terminal);
	const {_inputHandler: handlers} = core;
	for (const [final, {name, isUp, fromCursor}] of Object.entries(LINE_MOVES)) {
		parser.registerCsiHandler({final}, ([count]) => {
			if (!(Number(count) > 1)) return false;
			// xterm itself moves by one line, which also creates the blank line that is copied.
			handlers[name]({params: [1]});
			moveLines(core, Number(count) - 1, isUp, fromCursor);
			return true;
		});
	}
	for (const [final, name] of Object.entries(TAB_MOVES)) {
		parser.registerCsiHandler({final}, ([count]) => {
			return Number(count) > terminal.cols && handlers[name]({params: [terminal.cols]});
		});
	}
	// Repeats the last character. No program needs more than a line, and in insert mode each one moves the rest of the line.
	parser.registerCsiHandler({final: 'b'}, ([count]) => {
		return Number(count) > (core.coreService.modes.insertMode ? Math.min(terminal.rows, terminal.cols) : terminal.cols);
	});
}

/**
 * Ignores OSC commands that are too long: xterm takes quadratic time for a list of colours. For terminals that have a use
 * for colours and links.
 */
export function limitOscCommands({parser}: ParsingTerminal): void {
	for (const command of OSC_COMMANDS) parser.registerOscHandler(command, text => text.length > MAX_OSC_LENGTH);
}

/** Moves all lines of the region at once, and fills the rest with copies of the line that entered the region last. */
function moveLines({buffers: {active}}: XtermCore, count: number, isUp: boolean, fromCursor: boolean): void {
	const {lines, ybase, y, scrollTop, scrollBottom: bottom} = active;
	const top = fromCursor ? y : scrollTop;
	if (top < scrollTop || top > bottom) return;
	const height = bottom - top + 1;
	const blank = lines.get(ybase + (isUp ? bottom : top))!;
	for (let index = 0; index < height; index++) {
		const from = index + count;
		const row = (at: number): number => ybase + (isUp ? top + at : bottom - at);
		lines.set(row(index), from < height ? lines.get(row(from))! : blank.clone());
	}
}
