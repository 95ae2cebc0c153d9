import type {IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import type {WebSocket, WebSocketServer} from 'ws';

/** An upgrade request of an HTTP server, with the socket it came on. */
export interface PendingUpgrade {
	readonly request: IncomingMessage;
	readonly socket: Duplex;
	readonly head: Buffer;
}

/**
 * Completes the handshake of a WebSocket. Either `join` is called with the WebSocket, or `withdraw` is called once: also if
 * the library refuses the request, or if the client hung up before, which emits no further event.
 */
export function completeUpgrade(
	server: WebSocketServer,
	{request, socket, head}: PendingUpgrade,
	join: (webSocket: WebSocket) => void,
	withdraw: () => void,
): void {
	if (socket.destroyed) return withdraw();
	socket.once('close', withdraw);
	server.handleUpgrade(request, socket, head, webSocket => {
		socket.off('close', withdraw);
		join(webSocket);
	});
}

/** Time in which a client that was refused has to close its side; the server closes the socket then. */
export const REFUSED_SOCKET_MS = 250;

/** Sends a whole answer and closes the socket, by force if the client keeps its side open. */
export function endUpgrade(socket: Duplex, answer: string): void {
	socket.on('error', () => socket.destroy());
	socket.end(answer);
	// Without reading, the end of the client's side would go unnoticed.
	socket.resume();
	const timer = setTimeout(() => socket.destroy(), REFUSED_SOCKET_MS);
	socket.once('close', () => clearTimeout(timer));
}
