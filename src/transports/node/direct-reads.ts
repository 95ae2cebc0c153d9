import type {Duplex} from 'node:stream';
import {isPlainSocket} from './socket-descriptor.js';

/** The runtime's own end of a socket, which calls `onread` with the memory of each read, and without at the end. */
interface SocketHandle {
	readonly bytesRead: number;
	onread?: (this: SocketHandle, memory: ArrayBuffer | undefined) => unknown;
}

/**
 * Hands each read of a plain socket to `take` without the stream in between, which does as much for a small request as the
 * server does. The stream has every read while it is paused or holds bytes, or while there is another listener than the one
 * that `take` stands for, and it is told of the end. `take` returns false to pause it. A test fails should the runtime change.
 */
export function takeReads(socket: Duplex, take: (chunk: Buffer) => boolean): void {
	if (!isPlainSocket(socket)) return;
	const {_handle: handle} = socket as unknown as {readonly _handle?: SocketHandle | null};
	const onread = handle?.onread;
	if (!handle || typeof onread !== 'function') return;
	const bytesBefore = handle.bytesRead;
	/** Whether a read is all of its memory; known from the first one on. */
	let isExact: boolean | undefined;
	handle.onread = function (memory) {
		if (memory) isExact ??= handle.bytesRead - bytesBefore === memory.byteLength;
		const isDirect =
			isExact &&
			memory instanceof ArrayBuffer &&
			!socket.destroyed &&
			socket.readableFlowing === true &&
			socket.readableLength === 0 &&
			socket.listenerCount('data') === 1;
		if (!isDirect) return onread.call(this, memory);
		if (!take(Buffer.from(memory))) socket.pause();
		return undefined;
	};
}
