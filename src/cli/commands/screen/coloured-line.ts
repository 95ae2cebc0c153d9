import {printable} from '../../common/printable.js';

const ESCAPE = '\u001B';
/** Sequences that change colours and attributes, and nothing else of a terminal. */
const COLOURS = new RegExp(`(${ESCAPE}\\[[\\d;:]*m)`);

/** A line whose colours reach the terminal, and nothing else that acts on it, whoever wrote the line. */
export function toColouredLine(text: string): string {
	return text
		.split(COLOURS)
		.map((part, index) => (index % 2 === 1 ? part : printable(part)))
		.join('');
}
