import {writeSync} from 'node:fs';
import type {Socket} from 'node:net';
import type {StdinWriter} from './backend.js';

/** Back-off between writes to a terminal whose input buffer is full; doubles from the first to the second. */
const MIN_RETRY_MS = 1;
const MAX_RETRY_MS = 20;

/** The character Ctrl-D types. */
const END_OF_FILE = Uint8Array.of(0x04);

/** Writes to a pipe. A reader that closed its end is no error: the bytes vanish, as they do for a local program. */
export function createPipeWriter(socket: Socket): StdinWriter {
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
 * Writes to the master of a terminal. Node's own stream would block the event loop while the child does not read, so this
 * one writes without blocking and retries the rest later.
 */
export function createTerminalWriter(fd: number): StdinWriter {
	const queue: {bytes: Uint8Array; done: () => void}[] = [];
	let timer: NodeJS.Timeout | undefined;
	let delay = MIN_RETRY_MS;
	let isDestroyed = false;

	const pump = (): void => {
		timer = undefined;
		while (queue.length > 0) {
			const head = queue[0]!;
			const written = writeNonBlocking(fd, head.bytes);
			if (written === 'full') {
				timer = setTimeout(pump, delay);
				delay = Math.min(delay * 2, MAX_RETRY_MS);
				return;
			}
			delay = MIN_RETRY_MS;
			if (written !== 'broken' && written < head.bytes.length) {
				head.bytes = head.bytes.subarray(written);
			} else {
				queue.shift();
				head.done();
			}
		}
	};

	const write = (bytes: Uint8Array, done: () => void): void => {
		if (isDestroyed) {
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
			isDestroyed = true;
			clearTimeout(timer);
			for (const {done} of queue.splice(0)) done();
		},
	};
}

function writeNonBlocking(fd: number, bytes: Uint8Array): number | 'full' | 'broken' {
	if (bytes.length === 0) return 0;
	try {
		return writeSync(fd, bytes);
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'full' : 'broken';
	}
}
