import {type Server, Socket} from 'node:net';

/** The runtime keeps the descriptor in its handle; undefined once it is closed. */
export function descriptorOf(socket: Socket | Server): number | undefined {
	const fd = (socket as unknown as {readonly _handle?: {readonly fd?: number} | null})._handle?.fd;
	return fd === undefined || fd < 0 ? undefined : fd;
}

/** Whether the bytes of the stream are those of its descriptor. TLS, which is a subclass, has bytes of its own to add. */
export function isPlainSocket(stream: object): boolean {
	return stream.constructor === Socket;
}
