/** Escape character that begins a sequence, and the bell that may end one. */
const [ESC, BEL] = ['\\u001b', '\\u0007'];
/** Sequences of terminals: CSI, OSC and other strings, and those of two or three characters. */
const ESCAPES = new RegExp(
	`${ESC}(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?|[ -/]+[0-~]|[0-~])`,
	'g',
);
/** Control characters that are no text; line ends and tabs are. */
const CONTROLS = /(?![\n\t])\p{Cc}/gu;

/**
 * Output as a person would have read it: without colours and other sequences of a terminal, and of a line that was
 * written over and over, such as a progress bar, only the last.
 */
export function plainText(text: string): string {
	const plain = text.replaceAll(ESCAPES, '').replaceAll(/\r+\n/g, '\n');
	return (plain.includes('\r') ? plain.split('\n').map(lastWritten).join('\n') : plain).replaceAll(CONTROLS, '');
}

function lastWritten(line: string): string {
	return line.split('\r').findLast(part => part !== '') ?? '';
}
