import {createReadStream, fstatSync} from 'node:fs';
import type {Readable} from 'node:stream';
import {isatty} from 'node:tty';
import {MAX_INPUT_PIECE_BYTES} from '../../../../client/run/write-input.js';

const STDIN = 0;
/** `/dev/null` on Linux: major 1, minor 3. */
const NULL_DEVICE = 0x103;

/** Kind of our own standard input. */
export type InputKind = 'terminal' | 'pipe' | 'file' | 'nothing';

export function detectInputKind(): InputKind {
	if (isatty(STDIN)) return 'terminal';
	try {
		const stats = fstatSync(STDIN);
		if (stats.isFIFO() || stats.isSocket()) return 'pipe';
		return stats.isCharacterDevice() && stats.rdev === NULL_DEVICE ? 'nothing' : 'file';
	} catch {
		// Closed by the program that started us.
		return 'nothing';
	}
}

/** Opens our own standard input. A descriptor cannot be opened twice for events, and the runtime may open it at any time. */
export function openInput(kind: Exclude<InputKind, 'nothing'>): Readable {
	switch (kind) {
		case 'terminal':
		case 'pipe':
			return process.stdin;
		case 'file':
			return createReadStream('', {fd: STDIN, autoClose: false, highWaterMark: MAX_INPUT_PIECE_BYTES});
	}
}
