import {execFileSync} from 'node:child_process';
import {closeSync, constants, openSync, writeSync} from 'node:fs';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {scratchDirectory} from './scratch.js';

/** A place in a script where it waits for the test. */
export class Gate {
	readonly #path = join(scratchDirectory(), 'gate');
	readonly #fd: number;

	constructor() {
		execFileSync('mkfifo', [this.#path]);
		// For both directions, so that nobody waits for the other end to be opened, and no end is ever read.
		this.#fd = openSync(this.#path, constants.O_RDWR);
		onTestFinished(() => closeSync(this.#fd));
	}

	/** The command that waits; what it was let through with is in `$x` afterwards. */
	get wait(): string {
		return `read -r x < ${this.#path}`;
	}

	/** Lets one who waits go on, or the next one who will. */
	open(line = ''): void {
		writeSync(this.#fd, `${line}\n`);
	}
}
