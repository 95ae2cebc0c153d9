import {spawnSync} from 'node:child_process';
import {writeSync} from 'node:fs';
import type {WriteStream} from 'node:tty';
import {ScreenModes} from './screen-modes.js';

export interface WindowSize {
	readonly rows: number;
	readonly cols: number;
}

/** Size without a terminal to ask. */
const USUAL_SIZE: WindowSize = {rows: 24, cols: 80};

const CLEAR_LINE = '\r\u001B[2K';

/**
 * The terminal we were started on, handed to a process somewhere else: keys go there as they are. It is put back when
 * the program ends, whatever the reason; only a SIGKILL leaves no chance to.
 */
export class OwnTerminal {
	/** Whether keys are passed on one by one, Ctrl-C included. */
	readonly isRaw: boolean;
	readonly #screen: WriteStream | undefined;
	readonly #modes = new ScreenModes();
	readonly #restoreAtExit = (): void => this.restore();
	readonly #takeAgain = (): void => this.#take();
	#isTaken = false;

	constructor() {
		this.isRaw = process.stdin.isTTY;
		this.#screen = [process.stdout, process.stderr].find(({isTTY}) => isTTY);
		process.once('exit', this.#restoreAtExit);
		// The shell that had us stopped has set the terminal up for itself.
		process.on('SIGCONT', this.#takeAgain);
		this.#take();
	}

	get size(): WindowSize {
		if (!this.#screen) return USUAL_SIZE;
		const {rows, columns} = this.#screen;
		return rows > 0 && columns > 0 ? {rows, cols: columns} : USUAL_SIZE;
	}

	/**
	 * Sizes to give the terminal over there one after the other. For a program that draws on all of the window a smaller one
	 * comes first, so that it draws again what our own lines have covered.
	 */
	get redrawingSizes(): readonly WindowSize[] {
		const {rows, cols} = this.size;
		return this.#modes.isAlternate && rows > 1 ? [{rows: rows - 1, cols}, this.size] : [this.size];
	}

	onResize(listener: (size: WindowSize) => void): void {
		this.#screen?.on('resize', () => listener(this.size));
	}

	/** Replaces the present line of our terminal by one of our own; an empty text removes it. */
	redrawStatus(text: string): void {
		if (!this.#screen) return;
		// The last column stays free: some terminals begin a new line when it is filled.
		const shown = `[longarm: ${text}]`.slice(0, Math.max(0, this.size.cols - 1));
		this.#screen.write(text === '' ? CLEAR_LINE : `${CLEAR_LINE}\u001B[2m${shown}\u001B[0m`);
	}

	/** Output on its way to the terminal. */
	observeOutput(bytes: Uint8Array): void {
		if (this.#screen) this.#modes.scan(bytes);
	}

	restore(): void {
		if (!this.#isTaken) return;
		this.#isTaken = false;
		process.off('exit', this.#restoreAtExit);
		process.off('SIGCONT', this.#takeAgain);
		if (this.isRaw) process.stdin.setRawMode(false);
		const {endings} = this.#modes;
		if (endings === '' || !this.#screen) return;
		try {
			// At the end of the program nothing else gets out.
			writeSync(this.#screen === process.stdout ? 1 : 2, endings);
		} catch {
			// The terminal is gone.
		}
	}

	#take(): void {
		this.#isTaken = true;
		if (!this.isRaw) return;
		process.stdin.setRawMode(false);
		process.stdin.setRawMode(true);
		// The runtime leaves on that a line feed returns to the first column; the terminal over there has seen to that.
		spawnSync('stty', ['-opost'], {stdio: ['inherit', 'ignore', 'ignore']});
	}
}
