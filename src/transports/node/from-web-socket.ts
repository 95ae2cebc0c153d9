import type {Duplex} from 'node:stream';
import type {WebSocket} from 'ws';
import type {Transport} from '../transport.js';
import {WebSocketTransport} from './web-socket.js';

/** An open WebSocket of the package `ws`, which is also what frameworks hand out that are built on it. */
export interface NodeWebSocket {
	readonly readyState: number;
	readonly extensions: string;
	pause(): void;
	resume(): void;
	terminate(): void;
}

/** Options of `fromWebSocket`. */
export interface FromWebSocketOptions {
	/** Whether the socket was accepted or connected. */
	readonly end: 'server' | 'client';
	/** Address of the far end, for logs and errors. */
	readonly peer?: string;
}

const OPEN = 1;

/**
 * A transport over a WebSocket that the caller has accepted or connected, and whose peer the caller has checked. It has to
 * be handed on in the tick in which it was opened: messages that come before are lost.
 */
export function fromWebSocket(webSocket: NodeWebSocket, {end, peer = 'unknown'}: FromWebSocketOptions): Transport {
	const {_socket: socket} = webSocket as unknown as {_socket?: Duplex | null};
	if (webSocket.readyState !== OPEN || !socket) {
		throw new TypeError('expected an open WebSocket of the package ws; use StandardWebSocketTransport for others');
	}
	// Whole frames are written past the library, which would compress its own behind our back.
	if (webSocket.extensions !== '') throw new TypeError(`${webSocket.extensions} is on: pass perMessageDeflate: false`);
	return new WebSocketTransport(webSocket as unknown as WebSocket, socket, peer, end);
}
