/** Escape sequences of terminals: CSI, OSC and other strings, and those of two or three characters. */
const ESCAPES =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	/\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]+[0-~]|[0-~])/g;
/** Control characters that are no text; line ends and tabs are. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u0080-\u009f]/g;

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
