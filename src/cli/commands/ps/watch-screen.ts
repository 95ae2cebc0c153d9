import {writeSync} from 'node:fs';
import {toLine} from '../../common/messages.js';

const STDOUT = 1;
const ESCAPE = '\u001B';
/** The other screen, so that the lines above are there again afterwards; the cursor is in the way. */
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l`;
const LEAVE = `${ESCAPE}[?25h${ESCAPE}[?1049l`;
const HOME = `${ESCAPE}[H`;
const CLEAR_LINE = `${ESCAPE}[K`;
const CLEAR_BELOW = `${ESCAPE}[J`;
const USUAL_ROWS = 24;
const USUAL_COLUMNS = 80;

/** A screen of our terminal that is drawn again and again; put back at the end of the program in any case. */
export class WatchScreen implements Disposable {
	readonly #leave = (): void => write(LEAVE);

	constructor() {
		write(ENTER);
		process.once('exit', this.#leave);
	}

	/** Shows as many of the lines as there is room for. */
	draw(lines: readonly string[]): void {
		const [rows, columns] = [process.stdout.rows || USUAL_ROWS, process.stdout.columns || USUAL_COLUMNS];
		const shown = lines
			.slice(0, Math.max(1, rows - 1))
			.map(line => `${toLine(line).slice(0, columns)}${CLEAR_LINE}\r\n`);
		write(`${HOME}${shown.join('')}${CLEAR_BELOW}`);
	}

	[Symbol.dispose](): void {
		process.off('exit', this.#leave);
		this.#leave();
	}
}

/** A terminal that is gone ends the program by a signal. */
function write(text: string): void {
	try {
		writeSync(STDOUT, text);
	} catch {
		// Drawn at the next time, if it was only full.
	}
}
