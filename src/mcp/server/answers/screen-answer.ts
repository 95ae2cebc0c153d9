import type {Screen} from '../../../client/process/shared-process.js';
import type {AnswerFacts} from '../calls/tool-call.js';
import {plainText} from './plain-text.js';

/** The lines of a screen, without the empty ones at its end. */
export function screenLines({lines}: Screen): string[] {
	const last = lines.findLastIndex(line => line.trim() !== '');
	return lines.slice(0, last + 1).map(line => plainText(line).trimEnd() || ' ');
}

/** `cursor line 3, column 9`. */
export function describeCursor({cursor}: Screen): string {
	return `cursor line ${cursor.row + 1}, column ${cursor.col + 1}${cursor.isVisible ? '' : ' (hidden)'}`;
}

/** A screen for programs. */
export function screenFacts({rows, cols, cursor, title, alternate}: Screen): AnswerFacts {
	return {
		rows,
		cols,
		cursor: {line: cursor.row + 1, column: cursor.col + 1, visible: cursor.isVisible},
		...(alternate && {full_screen: true}),
		...(title !== '' && {title}),
	};
}
