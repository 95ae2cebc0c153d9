import {execFileSync} from 'node:child_process';
import {closeSync, constants, openSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {scratchDirectory} from './scratch.js';

/** Barrier in a shell script: a FIFO the script reads and the test writes. */
export class Gate {
	readonly #path = join(scratchDirectory(), 'gate');
	readonly #fd: number;

	constructor() {
		execFileSync('mkfifo', [this.#path]);
		// Read-write, so that `open` never blocks for the other end, and the script never reads an end of file.
		this.#fd = openSync(this.#path, constants.O_RDWR);
		onTestFinished(() => closeSync(this.#fd));
	}

	/** The shell command that waits; afterwards `$x` is the line given to `open`. */
	get wait(): string {
		return `read -r x < ${this.#path}`;
	}

	/** Releases one waiting script, or the next one to wait. */
	open(line = ''): void {
		writeSync(this.#fd, `${line}\n`);
	}
}
