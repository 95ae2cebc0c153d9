import type {Frame} from '../protocol/wire/encode.js';
import {type OptionTable, readOptions, type WithDurations} from '../shared/call-options.js';
import type {Transport, TransportEvents} from './transport.js';

/** How long connecting may take, with TLS and the upgrade. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Pages cannot send pings: a silent server is asked by a request. */
const ASK_INTERVAL_MS = 10_000;
const SILENCE_TIMEOUT_MS = 25_000;
/** Poll interval of `bufferedAmount`: browsers have no drain event. */
const DRAIN_INTERVAL_MS = 10;

/** Options of `connectStandardWebSocket`. */
export interface StandardWebSocketOptions {
	/** Another implementation than the platform's own. */
	readonly WebSocket?: typeof WebSocket | undefined;
	readonly timeoutMs?: number | undefined;
	/** A server that has sent no message for this long is asked for its status, 10 s by default; 0 never asks. */
	readonly pingIntervalMs?: number | undefined;
	/** The connection is over when no message came for this long, 25 s by default; 0 never gives it up. */
	readonly peerTimeoutMs?: number | undefined;
	readonly signal?: AbortSignal | undefined;
}

const STANDARD_OPTIONS: OptionTable<StandardWebSocketOptions> = {
	WebSocket: 'function',
	timeoutMs: 'duration',
	pingIntervalMs: 'duration',
	peerTimeoutMs: 'duration',
	signal: 'signal',
};

/**
 * Connects over the WebSocket of the web platform, as browsers and newer runtimes have it. It cannot send a token, and
 * in a browser the server has to allow the page's origin.
 */
export async function connectStandardWebSocket(
	url: string,
	given: WithDurations<StandardWebSocketOptions> = {},
): Promise<StandardWebSocketTransport> {
	const options = readOptions<StandardWebSocketOptions>(given, STANDARD_OPTIONS, 'connectStandardWebSocket()');
	const {timeoutMs = CONNECT_TIMEOUT_MS, signal} = options;
	const {pingIntervalMs = ASK_INTERVAL_MS, peerTimeoutMs = SILENCE_TIMEOUT_MS} = options;
	if (pingIntervalMs > 0 && peerTimeoutMs > 0 && peerTimeoutMs <= pingIntervalMs) {
		throw new RangeError('peerTimeoutMs has to be longer than pingIntervalMs');
	}
	signal?.throwIfAborted();
	const {WebSocket: Socket = (globalThis as {WebSocket?: typeof WebSocket}).WebSocket} = options;
	if (!Socket) throw new TypeError('this platform has no WebSocket of its own: pass one');
	const socket = new Socket(url);
	socket.binaryType = 'arraybuffer';
	const late = AbortSignal.timeout(timeoutMs);
	const stop = signal ? AbortSignal.any([signal, late]) : late;
	await new Promise<void>((resolve, reject) => {
		const over = new AbortController();
		const fail = (error: Error): void => {
			over.abort();
			socket.close();
			reject(error);
		};
		// The platform keeps the reason to itself.
		const failed = (): void => fail(new Error(`failed to connect to exec-server websocket \`${url}\``));
		const stopped = (): void => {
			const why = `timed out connecting to exec-server websocket \`${url}\` after ${timeoutMs / 1000}s`;
			fail(signal?.aborted ? (signal.reason as Error) : new Error(why));
		};
		socket.addEventListener('open', () => {
			over.abort();
			resolve();
		});
		socket.addEventListener('error', failed, {signal: over.signal});
		socket.addEventListener('close', failed, {signal: over.signal});
		stop.addEventListener('abort', stopped, {once: true, signal: over.signal});
	});
	const asking = pingIntervalMs === 0 ? undefined : {intervalMs: pingIntervalMs, timeoutMs: peerTimeoutMs};
	return new StandardWebSocketTransport(socket, url, asking);
}

/** A transport over an open WebSocket of the web platform, which cannot be asked to stop reading. */
export class StandardWebSocketTransport implements Transport {
	readonly kind = 'websocket';
	readonly peer: string;
	readonly asking: Transport['asking'];
	readonly #socket: WebSocket;
	/** Messages that arrived while reading is paused: the platform cannot be asked to stop. */
	readonly #waiting: MessageEvent[] = [];
	#events: TransportEvents | undefined;
	#isPaused = false;
	#isClosed = false;
	#draining: ReturnType<typeof setInterval> | undefined;

	constructor(socket: WebSocket, url: string, asking?: Transport['asking']) {
		this.#socket = socket;
		this.asking = asking;
		this.peer = `websocket ${url}`;
		socket.addEventListener('message', event => {
			if (this.#isPaused || !this.#events) this.#waiting.push(event);
			else this.#deliver(event);
		});
		socket.addEventListener('close', event => this.#close(event));
	}

	get backlog(): number {
		return this.#socket.bufferedAmount;
	}

	open(events: TransportEvents): void {
		this.#events = events;
		if (this.#socket.readyState >= this.#socket.CLOSING) queueMicrotask(() => this.#close());
		else this.#deliverWaiting();
	}

	send(frame: Frame): void {
		if (this.#socket.readyState !== this.#socket.OPEN) return;
		this.#socket.send(frame.toString());
		this.#draining ??= setInterval(() => this.#checkDrained(), DRAIN_INTERVAL_MS);
	}

	pause(): void {
		this.#isPaused = true;
	}

	resume(): void {
		this.#isPaused = false;
		this.#deliverWaiting();
	}

	close(): void {
		this.#socket.close(1000);
	}

	destroy(): void {
		this.#waiting.length = 0;
		this.#socket.close();
		// A peer that does not answer the close frame would keep the socket open for a while.
		this.#close();
	}

	#deliverWaiting(): void {
		while (!this.#isPaused && this.#waiting.length > 0) this.#deliver(this.#waiting.shift()!);
	}

	#deliver({data}: MessageEvent): void {
		if (this.#isClosed) return;
		if (typeof data === 'string') {
			this.#events!.message(data);
			return;
		}
		const text = decodeUtf8(data as ArrayBuffer);
		if (text === undefined) this.#events!.unreadable('invalid UTF-8');
		else this.#events!.message(text);
	}

	#checkDrained(): void {
		if (this.#socket.bufferedAmount > 0) return;
		clearInterval(this.#draining);
		this.#draining = undefined;
		if (!this.#isClosed) this.#events?.drained();
	}

	#close(event?: {readonly code: number}): void {
		if (this.#isClosed || !this.#events) return;
		this.#isPaused = false;
		this.#deliverWaiting();
		this.#isClosed = true;
		clearInterval(this.#draining);
		const isClean = !event || event.code === 1000 || event.code === 1001 || event.code === 1005;
		this.#events.closed(isClean ? undefined : new Error(`the connection broke (${event.code})`));
	}
}

function decodeUtf8(bytes: ArrayBuffer): string | undefined {
	try {
		return new TextDecoder('utf-8', {fatal: true}).decode(bytes);
	} catch {
		return undefined;
	}
}
