import type {Terminal} from '@xterm/headless';
import type {TerminalSize} from '../backends/backend.js';
import {CHARACTER_WIDTHS} from './character-width.js';
import {limitRepetitions, OSC_COMMANDS} from './repeated-sequences.js';
import {drawLines, removeUnsafe, type ScreenFormat} from './screen-text.js';
import {
	coreOf,
	isBetweenSequences,
	loadXterm,
	mendBuffers,
	type XtermCore,
	type XtermPayloadHandler,
} from './xterm-core.js';
import {captureState, restoreState, type XtermState} from './xterm-state.js';

/** Bounds of a model, whatever the terminal was set to: memory and the time of one sequence grow with the cells. */
export const MAX_SCREEN_ROWS = 1000;
export const MAX_SCREEN_COLUMNS = 1000;
export const MAX_SCREEN_CELLS = 128 * 1024;
/** Smallest size that the model can have. */
const MIN_ROWS = 1;
const MIN_COLUMNS = 2;
/** Characters of a title that are kept. */
export const MAX_TITLE_LENGTH = 1024;
/** First half of a pair that was cut. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;
/** Ends a sequence or character that was begun. */
const CANCEL = new Uint8Array([0x18]);
/** Numbers of the OSC commands that set a title. */
const TITLE_COMMANDS = [0, 2];
/** The only DCS sequence that xterm interprets: a question about settings. */
const SETTINGS_QUESTION = {intermediates: '$', final: 'q'};
/** Work of a row apart from its cells, in cells. */
const ROW_WEIGHT = 16;

/** All of a model that is needed to go on from it. */
export interface ModelState {
	readonly size: TerminalSize;
	readonly title: string;
	readonly xterm: XtermState;
}

/** A screen as it is shown to people: no control characters, except for sequences that set colours and attributes. */
export interface ScreenPicture {
	readonly rows: number;
	readonly cols: number;
	/** Counted from 0. */
	readonly cursor: {readonly row: number; readonly col: number; readonly isVisible: boolean};
	readonly alternate: boolean;
	readonly title: string;
	/** One for each row. */
	readonly lines: string[];
}

/**
 * The terminal that a program writes to. It answers no question of the program, keeps no lines that left the screen, and
 * its memory is bounded by its size.
 */
export class TerminalModel {
	readonly #terminal: Terminal;
	readonly #core: XtermCore;
	#title = '';

	static async create(size: TerminalSize): Promise<TerminalModel> {
		const {Terminal: XtermTerminal} = await loadXterm();
		const {rows, columns: cols} = boundSize(size);
		// The log of xterm goes to the console, and names parts of the output.
		return new TerminalModel(
			new XtermTerminal({rows, cols, scrollback: 0, allowProposedApi: true, logLevel: 'off', disableStdin: true}),
		);
	}

	static async restore({size, title, xterm}: ModelState): Promise<TerminalModel> {
		const model = await TerminalModel.create(size);
		restoreState(model.#core, xterm);
		model.#title = title;
		return model;
	}

	private constructor(terminal: Terminal) {
		this.#terminal = terminal;
		this.#core = coreOf(terminal);
		terminal.unicode.register(CHARACTER_WIDTHS);
		terminal.unicode.activeVersion = CHARACTER_WIDTHS.version;
		// xterm keeps up to 10 MB of each command, and takes quadratic time for a long list of colours.
		const {_parser: parser} = this.#core._inputHandler;
		for (const command of OSC_COMMANDS) parser.clearOscHandler(command);
		parser.clearDcsHandler(SETTINGS_QUESTION);
		for (const command of TITLE_COMMANDS) {
			parser.registerOscHandler(
				command,
				new TitleHandler(title => {
					this.#title = title;
				}),
			);
		}
		limitRepetitions(terminal);
	}

	get cells(): number {
		return this.#terminal.rows * this.#terminal.cols;
	}

	/** Most work that the shortest sequences do, in cells. */
	get weight(): number {
		return this.#terminal.rows * (this.#terminal.cols + ROW_WEIGHT);
	}

	/** Throws when the parser fails; the model can be used on, but has not taken some of the bytes. */
	write(bytes: Uint8Array): void {
		this.#core._inputHandler.parse(bytes);
	}

	/** To be called before output that does not follow on the output before. */
	cancelSequence(): void {
		this.write(CANCEL);
	}

	resize(size: TerminalSize): void {
		const {rows, columns} = boundSize(size);
		this.#terminal.resize(columns, rows);
		mendBuffers(this.#core, rows);
	}

	/** Undefined in the middle of a sequence. */
	capture(): ModelState | undefined {
		if (!isBetweenSequences(this.#core)) return undefined;
		const {rows, cols: columns} = this.#terminal;
		return {size: {rows, columns}, title: this.#title, xterm: captureState(this.#core)};
	}

	draw(format: ScreenFormat): ScreenPicture {
		const {rows, cols} = this.#terminal;
		const buffer = this.#terminal.buffer.active;
		return {
			rows,
			cols,
			// Behind the last column while the next character would begin a new line.
			cursor: {
				row: buffer.cursorY,
				col: Math.min(buffer.cursorX, cols - 1),
				isVisible: !this.#core.coreService.isCursorHidden,
			},
			alternate: buffer.type === 'alternate',
			title: this.#title,
			lines: drawLines(buffer, {rows, cols}, format),
		};
	}

	dispose(): void {
		this.#terminal.dispose();
	}
}

/** Keeps no more of a title than is shown. */
class TitleHandler implements XtermPayloadHandler {
	readonly #changed: (title: string) => void;
	#title = '';

	constructor(changed: (title: string) => void) {
		this.#changed = changed;
	}

	start(): void {
		this.#title = '';
	}

	put(codes: Uint32Array, start: number, end: number): void {
		const last = Math.min(end, start + MAX_TITLE_LENGTH - this.#title.length);
		for (let index = start; index < last; index++) this.#title += String.fromCodePoint(codes[index]!);
	}

	end(isComplete: boolean): boolean {
		if (isComplete) {
			this.#changed(removeUnsafe(this.#title.slice(0, MAX_TITLE_LENGTH)).replace(HALF_CHARACTER, ''));
		}
		return true;
	}
}

function boundSize({rows, columns}: TerminalSize): TerminalSize {
	const bounded = Math.min(Math.max(columns, MIN_COLUMNS), MAX_SCREEN_COLUMNS);
	const maxRows = Math.min(MAX_SCREEN_ROWS, Math.floor(MAX_SCREEN_CELLS / bounded));
	return {columns: bounded, rows: Math.min(Math.max(rows, MIN_ROWS), maxRows)};
}
