import {createReadStream, fstatSync} from 'node:fs';
import {Socket, type SocketConstructorOpts} from 'node:net';
import type {DuplexOptions, Readable} from 'node:stream';
import {isatty} from 'node:tty';
import {INPUT_BYTES} from '../../client/run/feed.js';

const STDIN = 0;
/** `/dev/null` on Linux: major 1, minor 3. */
const NULL_DEVICE = 0x103;

/** The type declarations leave out that a socket is a stream and takes its options. */
const PIPE_OPTIONS: SocketConstructorOpts & DuplexOptions = {
	fd: STDIN,
	readable: true,
	writable: false,
	readableHighWaterMark: INPUT_BYTES,
};

/** What our own standard input is. */
export type InputKind = 'terminal' | 'pipe' | 'file' | 'nothing';

export function kindOfInput(): InputKind {
	if (isatty(STDIN)) return 'terminal';
	try {
		const stats = fstatSync(STDIN);
		if (stats.isFIFO() || stats.isSocket()) return 'pipe';
		return stats.isCharacterDevice() && stats.rdev === NULL_DEVICE ? 'nothing' : 'file';
	} catch {
		// Closed by whoever started us.
		return 'nothing';
	}
}

/** Our own standard input; while nobody takes anything, no more than one piece is read ahead. */
export function openInput(kind: Exclude<InputKind, 'nothing'>): Readable {
	switch (kind) {
		case 'terminal':
			return process.stdin;
		case 'pipe':
			return new Socket(PIPE_OPTIONS);
		case 'file':
			return createReadStream('', {fd: STDIN, autoClose: false, highWaterMark: INPUT_BYTES});
	}
}
