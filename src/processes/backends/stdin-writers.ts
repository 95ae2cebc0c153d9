import type {Socket} from 'node:net';
import {tryWrite} from '../../shared/node/try-write.js';
import type {StdinRemainder, StdinWriter} from './backend.js';

/** Back-off between writes to a terminal whose input buffer is full; doubles from the first to the second. */
const MIN_RETRY_MS = 1;
const MAX_RETRY_MS = 20;

/** Input up to this size, in bytes, is written without a stream: a pipe takes it whole or not at all. */
const MAX_DIRECT_BYTES = 4096;

/** The character Ctrl-D types. */
const END_OF_FILE = Uint8Array.of(0x04);

/** The runtime's own end of a pipe. */
interface PipeHandle {
	readonly fd: number;
	/** Bytes it was given, and those among them that the kernel has not taken. */
	readonly bytesWritten: number;
	readonly writeQueueSize: number;
}

/**
 * Writes to a pipe. A reader that closed its end is no error: the bytes vanish, as they do for a local program. Without
 * `hasReader` that is known only after a write.
 */
export function createPipeWriter(socket: Socket, hasReader: (fd: number) => boolean = () => true): StdinWriter {
	/** In order; those that the kernel has taken are not all gone from here. */
	const queue = new Set<Uint8Array>();
	let queuedBytes = 0;
	socket.on('error', () => socket.destroy());
	const {_handle: handle} = socket as unknown as {readonly _handle?: PipeHandle | null};
	/** Bytes that the kernel took without the stream, which has the rest; 0 as long as earlier ones wait in it. */
	const writeDirectly = (bytes: Uint8Array): number => {
		const isDirect = bytes.length <= MAX_DIRECT_BYTES && queue.size === 0 && socket.writable;
		const written = isDirect && handle && handle.fd >= 0 ? tryWrite(handle.fd, bytes) : 0;
		// A reader that is gone is for the stream to notice.
		return typeof written === 'number' ? written : 0;
	};
	return {
		write(bytes, done) {
			const written = writeDirectly(bytes);
			if (socket.destroyed || (written > 0 && written === bytes.length)) {
				done();
				return;
			}
			const chunk = bytes.subarray(written);
			queue.add(chunk);
			queuedBytes += chunk.length;
			socket.write(chunk, () => {
				queue.delete(chunk);
				done();
			});
		},
		isBroken: () => socket.destroyed || (handle !== undefined && handle !== null && !hasReader(handle.fd)),
		handOver() {
			if (socket.destroyed || !handle) return {fd: undefined, unwritten: [], isEnding: false};
			const unwrittenBytes = queuedBytes - (handle.bytesWritten - handle.writeQueueSize);
			return {fd: handle.fd, unwritten: takeLast([...queue], unwrittenBytes), isEnding: socket.writableEnded};
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
			const written = tryWrite(fd, head.bytes);
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
		handOver(): StdinRemainder {
			return {fd: isDestroyed ? undefined : fd, unwritten: queue.map(({bytes}) => bytes), isEnding: false};
		},
		destroy() {
			isDestroyed = true;
			clearTimeout(timer);
			for (const {done} of queue.splice(0)) done();
		},
	};
}

/** The last bytes of these chunks. */
function takeLast(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
	const taken: Uint8Array[] = [];
	let left = bytes;
	for (const chunk of chunks.toReversed()) {
		if (left <= 0) break;
		taken.unshift(chunk.subarray(Math.max(0, chunk.length - left)));
		left -= chunk.length;
	}
	return taken;
}

/** Standard input that was closed: bytes vanish. */
export const CLOSED_STDIN: StdinWriter = {
	write: (_bytes, done) => done(),
	isBroken: () => true,
	end: () => {},
	destroy: () => {},
	handOver: () => ({fd: undefined, unwritten: [], isEnding: false}),
};
