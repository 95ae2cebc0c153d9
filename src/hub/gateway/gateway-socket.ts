import type {Socket} from 'node:net';
import type {WebSocket} from 'ws';
import {answerPings} from '../../transports/node/answer-pings.js';
import {PING_INTERVAL_MS} from '../../transports/node/peer-times.js';

/** Close codes of WebSocket. */
const GOING_AWAY = 1001;
const UNSUPPORTED_DATA = 1003;

/** An end of a gateway's connection: whole messages of JSON-RPC, as bytes of text. */
export interface GatewayEnd {
	send(message: Uint8Array): void;
	/** Bytes that the operating system has not taken yet. */
	readonly backlog: number;
	pause(): void;
	resume(): void;
	close(code?: number): void;
}

export interface GatewayEndEvents {
	message(bytes: Buffer): void;
	drained(): void;
	/** Comes once and last. */
	closed(): void;
}

/** A plain WebSocket as an end. A message that is no text ends it, and so does a ping without an answer before the next. */
export function openGatewaySocket(webSocket: WebSocket, events: GatewayEndEvents): GatewayEnd {
	const {_socket: socket} = webSocket as unknown as {_socket: Socket};
	socket.setNoDelay(true);
	let isPaused = false;
	let isAnswering = true;
	const pinging = setInterval(() => {
		if (!isAnswering && !isPaused) return webSocket.terminate();
		isAnswering = false;
		webSocket.ping();
	}, PING_INTERVAL_MS);
	answerPings(webSocket);
	webSocket.on('pong', () => {
		isAnswering = true;
	});
	webSocket.on('message', (data, isBinary) => {
		if (webSocket.readyState !== webSocket.OPEN) return;
		isAnswering = true;
		if (isBinary) webSocket.close(UNSUPPORTED_DATA);
		else events.message(data as Buffer);
	});
	webSocket.on('error', () => webSocket.terminate());
	webSocket.on('close', () => {
		clearInterval(pinging);
		events.closed();
	});
	socket.on('drain', () => events.drained());
	return {
		send: message => webSocket.send(message, {binary: false}),
		get backlog() {
			return webSocket.bufferedAmount;
		},
		pause() {
			isPaused = true;
			webSocket.pause();
		},
		resume() {
			isPaused = false;
			webSocket.resume();
		},
		close: (code = GOING_AWAY) => webSocket.close(code),
	};
}
