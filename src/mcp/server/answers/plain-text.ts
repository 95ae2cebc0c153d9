/** Escape character that begins a sequence, and the bell that may end one. */
const [ESC, BEL] = ['\\u001b', '\\u0007'];
/** Sequences of terminals: CSI, OSC and other strings, and those of two or three characters. */
const ESCAPES = new RegExp(
	`${ESC}(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?|[ -/]+[0-~]|[0-~])`,
	'g',
);
/** Moves of the cursor to a place on the screen, and to its first. */
const PLACEMENT = new RegExp(`${ESC}\\[\\d+;\\d+[Hf]`);
const HOME = new RegExp(`${ESC}\\[[Hf]`, 'g');
/** A move to the first place that clears nothing: what is there is written over. */
const HOME_TO_REDRAW = new RegExp(`${ESC}\\[[Hf](?!${ESC}\\[[0-3]?J)`);
const CURSOR_HIDDEN = `\u001b[?25l`;
/** Beginning and end of the alternate screen, which full-screen programs use. */
const ALTERNATE_SCREEN = new RegExp(`${ESC}\\[\\?(?:1049|1047|47)([hl])`);
/** More moves than a program makes that only clears the screen. */
const MIN_HOME_MOVES = 2;
/** The look behind keeps a long run of carriage returns from being read again from each of them. */
const LINE_ENDS = /(?<!\r)\r+\n/g;
/** Control characters that are no text; line ends and tabs are. */
const CONTROLS = /(?![\n\t])\p{Cc}/gu;

/**
 * Output as a person would have read it: without colours and other sequences of a terminal, and of a line that was
 * written over and over, such as a progress bar, only the last. What a full-screen program showed is gone when it has left.
 */
export function plainText(text: string): string {
	const plain = withoutAlternateScreens(text).replaceAll(ESCAPES, '').replaceAll(LINE_ENDS, '\n');
	return (plain.includes('\r') ? plain.split('\n').map(lastWritten).join('\n') : plain).replaceAll(CONTROLS, '');
}

/** Whether output places text on a screen, as full-screen programs do: read as lines, it makes no sense. */
export function isDrawing(text: string): boolean {
	if (ALTERNATE_SCREEN.exec(text)?.[1] === 'h' || PLACEMENT.test(text)) return true;
	const homeMoves = text.match(HOME)?.length ?? 0;
	return homeMoves >= MIN_HOME_MOVES || HOME_TO_REDRAW.test(text) || (homeMoves > 0 && text.includes(CURSOR_HIDDEN));
}

/** One that was not left stays: the text ends in it. */
function withoutAlternateScreens(text: string): string {
	const parts = text.split(ALTERNATE_SCREEN);
	let shown = parts[0]!;
	for (let at = 1; at < parts.length; at += 2) {
		const isLeft = parts[at] === 'h' && parts[at + 2] === 'l';
		shown += isLeft ? `… ${parts[at + 1]!.length} characters of a full-screen program left out …\n` : parts[at + 1]!;
		if (isLeft) shown += parts[(at += 2) + 1]!;
	}
	return shown;
}

function lastWritten(line: string): string {
	return line.split('\r').findLast(part => part !== '') ?? '';
}
