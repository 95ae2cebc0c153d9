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

	onResize(listener: (size: WindowSize) => void): void {
		this.#screen?.on('resize', () => listener(this.size));
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
