import {writeSync} from 'node:fs';
import type {Socket} from 'node:net';
import type {StdinWriter} from './backend.js';

/** How long to wait before offering bytes again to a terminal whose input is full; doubles up to the second. */
const RETRY_FIRST_MS = 1;
const RETRY_MOST_MS = 20;

/** What Ctrl-D types. */
const END_OF_FILE = Uint8Array.of(0x04);

/** Writes to a pipe. A reader that closed its end is no error: the bytes vanish, as they do for a local program. */
export function pipeWriter(socket: Socket): StdinWriter {
	socket.on('error', () => socket.destroy());
	return {
		write(bytes, done) {
			if (socket.destroyed) done();
			else socket.write(bytes, () => done());
		},
		end() {
			socket.end();
		},
		destroy() {
			socket.destroy();
		},
	};
}

/**
 * Writes to the master of a terminal. Node's own stream would block the whole program while the child does not read,
 * so this one writes without blocking and offers the rest again later.
 */
export function terminalWriter(fd: number): StdinWriter {
	const queue: {bytes: Uint8Array; done: () => void}[] = [];
	let timer: NodeJS.Timeout | undefined;
	let delay = RETRY_FIRST_MS;
	let destroyed = false;

	const pump = (): void => {
		timer = undefined;
		while (queue.length > 0) {
			const head = queue[0]!;
			const written = offer(fd, head.bytes);
			if (written === 'full') {
				timer = setTimeout(pump, delay);
				delay = Math.min(delay * 2, RETRY_MOST_MS);
				return;
			}
			delay = RETRY_FIRST_MS;
			if (written !== 'broken' && written < head.bytes.length) {
				head.bytes = head.bytes.subarray(written);
			} else {
				queue.shift();
				head.done();
			}
		}
	};

	const write = (bytes: Uint8Array, done: () => void): void => {
		if (destroyed) {
			done();
			return;
		}
		queue.push({bytes, done});
		if (!timer) pump();
	};

	return {
		write,
		end() {
			write(END_OF_FILE, () => {});
		},
		destroy() {
			destroyed = true;
			clearTimeout(timer);
			for (const {done} of queue.splice(0)) done();
		},
	};
}

function offer(fd: number, bytes: Uint8Array): number | 'full' | 'broken' {
	if (bytes.length === 0) return 0;
	try {
		return writeSync(fd, bytes);
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'full' : 'broken';
	}
}
