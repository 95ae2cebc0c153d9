import type {Socket} from 'node:net';
import {type ClientOptions, WebSocket} from 'ws';
import {MAX_RELAY_MESSAGE_BYTES} from '../../../protocol/relay/relay-frame.js';
import {LongarmError} from '../../../shared/errors.js';
import {answerPings} from '../answer-pings.js';
import {askPeer} from '../ask-peer.js';
import {maskingFor, UnreachableError, waitForOpen} from '../connect-web-socket.js';
import type {PeerMonitor} from '../peer-monitor.js';
import type {WatchedLink} from '../peer-watch.js';
import {createSocketLink} from '../socket-link.js';
import type {TlsOptions} from '../tls-trust.js';
import {withoutSecrets} from '../web-socket-scheme.js';
import {secureSocketOptions} from './secure-socket.js';

/** How long a relay may take to accept a socket. */
export const RENDEZVOUS_TIMEOUT_MS = 10_000;
/** How long a peer may take to answer a close; a session that waits for it expires after 80 s, on servers before codex 0.169 after 30 s. */
const CLOSE_TIMEOUT_MS = 3000;

/** Callbacks of the user of a rendezvous socket. `closed` comes once and last. */
export interface RendezvousEvents {
	/** One binary message, at most `MAX_RELAY_MESSAGE_BYTES` long. */
	message(bytes: Uint8Array): void;
	/** A text message, which no frame is: executors tell their load in one. */
	text(text: string): void;
	drained(): void;
	closed(error?: Error): void;
}

export interface RendezvousOptions {
	/** For `wss:`. */
	readonly tls?: TlsOptions | undefined;
	readonly timeoutMs?: number | undefined;
	readonly signal?: AbortSignal | undefined;
}

/** Opens a socket at a relay. The URL is the ticket: errors show neither its query nor a password. */
export async function openRendezvous(url: string, options: RendezvousOptions = {}): Promise<WebSocket> {
	const {tls = {}, timeoutMs = RENDEZVOUS_TIMEOUT_MS, signal} = options;
	signal?.throwIfAborted();
	if (!URL.canParse(url) || !/^wss?:$/.test(new URL(url).protocol)) {
		throw new UnreachableError('the registry gave a ticket that is no WebSocket URL');
	}
	const name = withoutSecrets(url);
	const secure = await secureSocketOptions(new URL(url), tls, {timeoutMs, signal}).catch((cause: Error) => {
		if (signal?.aborted || cause instanceof LongarmError) throw cause;
		throw new UnreachableError(`failed to connect to exec-server websocket \`${name}\`: ${cause.message}`, {cause});
	});
	const webSocket = new WebSocket(url, {
		...(secure as ClientOptions),
		...maskingFor(new URL(url)),
		perMessageDeflate: false,
		maxPayload: MAX_RELAY_MESSAGE_BYTES,
		followRedirects: false,
		autoPong: false,
	});
	// A frame that came with the answer to the upgrade waits for its reader.
	webSocket.once('open', () => webSocket.pause());
	await waitForOpen(webSocket, {name, hasToken: undefined, timeoutMs, signal});
	return webSocket;
}

/** An open WebSocket that carries binary messages, on either side of a relay. */
export class RendezvousSocket {
	readonly peer: string;
	readonly #webSocket: WebSocket;
	readonly #socket: Socket;
	#isPaused = false;
	#isCorked = false;
	#beforeFlush: (() => void)[] = [];
	#failure: Error | undefined;
	#closeTimer: NodeJS.Timeout | undefined;

	constructor(webSocket: WebSocket, peer: string, events: RendezvousEvents, monitor?: PeerMonitor) {
		this.peer = peer;
		this.#webSocket = webSocket;
		this.#socket = (webSocket as unknown as {_socket: Socket})._socket;
		this.#socket.setNoDelay(true);
		webSocket.on('message', (data, isBinary) => {
			// The library goes on with the packet it is reading although we have hung up.
			if (webSocket.readyState !== webSocket.OPEN) return;
			if (isBinary) events.message(data as Buffer);
			else events.text((data as Buffer).toString());
		});
		answerPings(webSocket);
		webSocket.on('error', error => {
			this.#failure ??= error;
			webSocket.terminate();
		});
		this.#socket.on('drain', () => events.drained());
		const stopWatching = monitor?.watch(this.#link());
		webSocket.on('close', () => {
			stopWatching?.();
			clearTimeout(this.#closeTimer);
			events.closed(this.#failure);
		});
		webSocket.resume();
	}

	get isOpen(): boolean {
		return this.#webSocket.readyState === this.#webSocket.OPEN;
	}

	/** Bytes that the operating system has not taken yet. */
	get backlog(): number {
		return this.#webSocket.bufferedAmount;
	}

	/** Never blocks; a message for a peer that is gone vanishes. All of one tick go to the kernel in one call. */
	send(bytes: Uint8Array): void {
		if (!this.isOpen) return;
		this.#cork();
		this.#webSocket.send(bytes);
	}

	/** Calls back before the messages of this turn of the event loop leave; those it sends go with them. */
	beforeFlush(callback: () => void): void {
		this.#beforeFlush.push(callback);
		this.#cork();
	}

	/** A text message, between messages of streams. */
	sendText(text: string): void {
		if (this.isOpen) this.#webSocket.send(text);
	}

	pause(): void {
		this.#isPaused = true;
		this.#webSocket.pause();
	}

	resume(): void {
		this.#isPaused = false;
		this.#webSocket.resume();
	}

	isAnswering(timeoutMs: number): Promise<boolean> {
		return askPeer(this.#link(), this.#webSocket, timeoutMs);
	}

	/** The open socket keeps the program alive no longer. */
	unref(): void {
		this.#socket.unref();
	}

	/** Reads on until the end: a peer whose answer to the close is not read would wait for ours. */
	close(code?: number, reason?: string): void {
		this.resume();
		this.#webSocket.close(code, reason);
		this.#closeTimer ??= setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS).unref();
	}

	/** Ends at once; `closed` tells the reason. */
	destroy(reason?: Error): void {
		this.#failure ??= reason;
		this.#webSocket.terminate();
	}

	#cork(): void {
		if (this.#isCorked) return;
		this.#isCorked = true;
		this.#socket.cork();
		setImmediate(() => {
			const callbacks = this.#beforeFlush;
			this.#beforeFlush = [];
			for (const callback of callbacks) callback();
			this.#isCorked = false;
			this.#socket.uncork();
		});
	}

	#link(): WatchedLink {
		return createSocketLink(this.#socket, {
			isPaused: () => this.#isPaused,
			ping: () => this.#webSocket.ping(),
			giveUp: reason => this.destroy(reason),
			stopped: () => {},
		});
	}
}
