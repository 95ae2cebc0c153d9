import {isUtf8} from 'node:buffer';
import type {EventEmitter} from 'node:events';
import {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {RawData, WebSocket} from 'ws';
import {type Frame, measureFrame} from '../../protocol/wire/encode.js';
import {FRAGMENT_BYTES, MAX_FRAME_BYTES} from '../../protocol/wire/message-limits.js';
import {FRAME_HEADROOM_BYTES, SharedFrame} from '../../protocol/wire/shared-frame.js';
import {BufferPool} from '../../shared/node/buffer-pool.js';
import {tryWrite} from '../../shared/node/try-write.js';
import {PeerSilentError} from '../peer-silent-error.js';
import {PeerViolationError} from '../peer-violation-error.js';
import type {Transport, TransportEvents} from '../transport.js';
import {MAX_UNSENT_BEFORE_PONG_BYTES} from './answer-pings.js';
import {askPeer} from './ask-peer.js';
import {deliverMessage} from './extract-payload.js';
import {FragmentedPayload} from './fragmented-payload.js';
import {frameToBuffer, writeFrame} from './frame-bytes.js';
import {selectPool} from './frame-pools.js';
import type {PeerMonitor} from './peer-monitor.js';
import type {WatchedLink} from './peer-watch.js';
import {PooledPayloads} from './pooled-payloads.js';
import {takeShortMessages} from './short-messages.js';
import {descriptorOf, isPlainSocket} from './socket-descriptor.js';
import {createSocketLink} from './socket-link.js';
import {readTcpInfo} from './tcp-info.js';

/** TCP keep-alive, for a connection that is not pinged. */
const KEEP_ALIVE_MS = 15_000;
/** Header of the longest frame. */
const MAX_HEADER_BYTES = FRAME_HEADROOM_BYTES;
/** Frames up to this size share a buffer with others of the same tick of the event loop. */
const MAX_GATHERED_FRAME_BYTES = 8 * 1024;
const GATHERING_BLOCKS = new BufferPool(16 * 1024, 64);
/** Bytes of an unfinished message from which on it is reported. */
const MIN_PARTIAL_BYTES = 256 * 1024;
/** Header and mask of a control frame. */
const CONTROL_HEADER_BYTES = 6;
/** Replies to requests that arrived together are held back for so long, in milliseconds, before the first ones are sent. */
const MAX_GATHERING_MS = 0.15;

export interface PeerWatching {
	/** Pings the peer and gives it up when it is silent. */
	readonly monitor: PeerMonitor;
	/** The program at the other end does not answer, but its machine does. */
	readonly onStopped?: ((peer: string) => void) | undefined;
}

/** A WebSocket and the socket below it, which tells of back-pressure. */
export class WebSocketTransport implements Transport {
	readonly kind = 'websocket';
	readonly peer: string;
	readonly #webSocket: WebSocket;
	readonly #socket: Duplex;
	readonly #end: 'server' | 'client';
	/** Whether the socket's descriptor may be written to without its stream. */
	readonly #isPlain: boolean;
	/** Everything that waits is sent at the end of the tick. */
	#isScheduled = false;
	#isCorked = false;
	/** True while messages of one read are delivered: what is sent meanwhile is written right behind them. */
	#isReading = false;
	/** Buffer of small frames, written behind the messages of a read, or at the end of the tick. */
	#block: Buffer | undefined;
	#gatheredBytes = 0;
	/** Time at which the first frame went into the buffer; known while messages of a read are delivered. */
	#gatheringSince = 0;
	readonly #watching: PeerWatching | undefined;
	#isPaused = false;
	/** Bytes read from the socket up to the end of the last whole message. */
	#wholeBytes = 0;
	#isPartialReported = false;
	#failure: Error | undefined;

	/** Without `watching` the peer is neither pinged nor given up. */
	constructor(
		webSocket: WebSocket,
		socket: Duplex,
		address: string,
		end: 'server' | 'client',
		watching?: PeerWatching,
	) {
		this.#webSocket = webSocket;
		this.#socket = socket;
		this.#end = end;
		this.#isPlain = end === 'server' && isPlainSocket(socket);
		this.#watching = watching;
		this.peer = `websocket ${address}`;
	}

	get backlog(): number {
		return this.#webSocket.bufferedAmount + this.#gatheredBytes;
	}

	get undelivered(): number {
		// Bytes that a socket within this machine was given are with its peer.
		return this.backlog + (readTcpInfo(descriptorOf(this.#socket as Socket) ?? -1)?.queuedBytes ?? 0);
	}

	open(events: TransportEvents): void {
		if (this.#socket instanceof Socket) this.#socket.setKeepAlive(true, KEEP_ALIVE_MS);
		const webSocket = this.#webSocket;
		limitFrames(webSocket);
		flushBeforeCloseFrame(webSocket, () => this.#flush());
		const payloads = new PooledPayloads(webSocket);
		const fragments = this.#end === 'server' ? new FragmentedPayload(webSocket, payloads) : undefined;
		webSocket.on('message', (data, isBinary) => {
			// The library goes on with the packet it is reading although we have hung up.
			if (webSocket.readyState !== webSocket.OPEN) return;
			this.#wholeBytes = this.#bytesRead;
			const bytes = data as Exclude<RawData, ArrayBuffer | Buffer[]>;
			// The library has checked text messages already.
			const payload = fragments?.take(bytes);
			if (payload) events.message(payload.text, payload.payload);
			else if (isBinary && !isUtf8(bytes)) events.unreadable('invalid UTF-8');
			else deliverMessage(events, bytes);
			payloads.release();
		});
		if (this.#end === 'server') this.#bracketReads(events);
		for (const control of ['ping', 'pong'] as const) {
			webSocket.on(control, data => (this.#wholeBytes += CONTROL_HEADER_BYTES + data.length));
		}
		// Sockets of a listener leave pongs to the transport; others answer by themselves.
		if (this.#end === 'server' && this.#watching) webSocket.on('ping', data => this.#answerPing(data));
		webSocket.on('error', error => {
			this.#failure ??= explainFailure(error);
			// The library would wait for a peer that broke the rules to hang up, for half a minute.
			webSocket.terminate();
		});
		this.#socket.on('drain', () => events.drained());
		const stopWatching = this.#watching?.monitor.watch(this.#link());
		webSocket.on('close', () => {
			stopWatching?.();
			events.closed(this.#failure);
		});
	}

	send(frame: Frame): void {
		if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
		const length = measureFrame(frame);
		if (this.#end === 'server' && length <= MAX_GATHERED_FRAME_BYTES) {
			this.#gather(frame, length);
			return;
		}
		this.#cork();
		const isFragmented = length > FRAGMENT_BYTES;
		// Frames of a client have to be masked, which the library does.
		if (this.#end === 'client' && typeof frame === 'string' && !isFragmented) this.#webSocket.send(frame);
		else if (this.#end === 'client' || isFragmented) this.#sendInFragments(frameToBuffer(frame, length));
		else if (frame instanceof SharedFrame) this.#sendShared(frame, length);
		else this.#sendWhole(frame, length);
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

	unref(): void {
		if (this.#socket instanceof Socket) this.#socket.unref();
	}

	close(): void {
		this.#flush();
		this.#webSocket.close();
	}

	destroy(): void {
		this.#webSocket.terminate();
	}

	#link(): WatchedLink {
		return createSocketLink(this.#socket as Socket, {
			isPaused: () => this.#isPaused,
			ping: () => {
				this.#flush();
				this.#webSocket.ping();
			},
			giveUp: reason => {
				this.#failure ??= reason;
				this.#webSocket.terminate();
			},
			stopped: () => this.#watching?.onStopped?.(this.peer),
		});
	}

	/** Replies that are ready when all messages of a read are delivered are written at once, not at the end of the tick. */
	#bracketReads(events: TransportEvents): void {
		const webSocket = this.#webSocket;
		takeShortMessages(webSocket, this.#socket, {
			begin: () => {
				this.#isReading = true;
			},
			message: text => {
				this.#wholeBytes = this.#bytesRead;
				if (webSocket.readyState === webSocket.OPEN) events.message(text);
			},
			end: () => {
				this.#isReading = false;
				if (!this.#isScheduled) this.#flush();
				this.#reportPartial(events);
			},
		});
	}

	get #bytesRead(): number {
		return (this.#socket as Partial<Socket>).bytesRead ?? 0;
	}

	#reportPartial(events: TransportEvents): void {
		const bytes = this.#bytesRead - this.#wholeBytes;
		const isPartial = bytes >= MIN_PARTIAL_BYTES;
		if (isPartial || this.#isPartialReported) events.partial?.(isPartial ? bytes : 0);
		this.#isPartialReported = isPartial;
	}

	/** A peer may leave out pongs, as long as it answers the most recent ping: the next one comes soon. */
	#answerPing(data: Buffer): void {
		if (this.#webSocket.readyState !== this.#webSocket.OPEN || this.backlog > MAX_UNSENT_BEFORE_PONG_BYTES) return;
		this.#flush();
		this.#webSocket.pong(data);
	}

	/** Many small frames become one piece for the kernel. */
	#gather(frame: Frame, length: number): void {
		if (!this.#isReading) this.#schedule();
		if (this.#gatheredBytes + MAX_HEADER_BYTES + length > GATHERING_BLOCKS.blockBytes) this.#flush();
		const isFirst = !this.#block;
		this.#block ??= GATHERING_BLOCKS.take();
		const start = this.#gatheredBytes + writeTextHeader(this.#block, this.#gatheredBytes, length);
		this.#gatheredBytes = writeFrame(frame, this.#block, start);
		if (!this.#isReading || this.#isScheduled) return;
		const now = performance.now();
		// The peer can go on with the first replies while the others are made.
		if (isFirst) this.#gatheringSince = now;
		else if (now - this.#gatheringSince > MAX_GATHERING_MS) this.#flush();
	}

	#flush(): void {
		const block = this.#block;
		if (!block) return;
		const bytes = block.subarray(0, this.#gatheredBytes);
		this.#block = undefined;
		this.#gatheredBytes = 0;
		const written = this.#writeDirectly(bytes);
		if (written === bytes.length) GATHERING_BLOCKS.give(block);
		else this.#socket.write(bytes.subarray(written), () => GATHERING_BLOCKS.give(block));
	}

	/** Bytes the kernel took without the socket's stream, which has the rest; 0 as long as something waits in it. */
	#writeDirectly(bytes: Buffer): number {
		const socket = this.#socket;
		if (!this.#isPlain || this.#isCorked || socket.writableLength > 0 || !socket.writable) return 0;
		const fd = descriptorOf(socket as Socket);
		const written = fd === undefined ? 0 : tryWrite(fd, bytes);
		// A connection that is broken is for the stream to report.
		return typeof written === 'number' ? written : 0;
	}

	/** One pooled buffer holds frame header and payload: one write, no copy, nothing for the garbage collector. */
	#sendWhole(frame: Frame, length: number): void {
		this.#flush();
		const pool = selectPool(length + MAX_HEADER_BYTES);
		const memory = pool?.take() ?? Buffer.allocUnsafe(length + MAX_HEADER_BYTES);
		const end = writeFrame(frame, memory, writeTextHeader(memory, 0, length));
		this.#socket.write(memory.subarray(0, end), () => pool?.give(memory));
	}

	/** The same bytes for all connections: the header of an unmasked frame is the same for all, too. */
	#sendShared(frame: SharedFrame, length: number): void {
		this.#flush();
		const memory = frame.memory as Buffer;
		const start = FRAME_HEADROOM_BYTES - measureTextHeader(length);
		writeTextHeader(memory, start, length);
		frame.retain();
		this.#socket.write(memory.subarray(start), () => frame.release());
	}

	#sendInFragments(bytes: Uint8Array): void {
		this.#flush();
		for (let offset = 0; offset < bytes.length; offset += FRAGMENT_BYTES) {
			const end = offset + FRAGMENT_BYTES;
			this.#webSocket.send(bytes.subarray(offset, end), {binary: false, fin: end >= bytes.length});
		}
	}

	/** Corks the socket: all messages of one tick of the event loop go to the kernel in one call. */
	#cork(): void {
		this.#schedule();
		if (this.#isCorked) return;
		this.#isCorked = true;
		this.#socket.cork();
	}

	/** Sends what waits at the end of the tick. */
	#schedule(): void {
		if (this.#isScheduled) return;
		this.#isScheduled = true;
		setImmediate(() => {
			this.#isScheduled = false;
			this.#flush();
			if (!this.#isCorked) return;
			this.#isCorked = false;
			this.#socket.uncork();
		});
	}
}

/** Errors of the library are violations of the peer: frames against the rules, messages that are too large. */
function explainFailure(error: NodeJS.ErrnoException): Error {
	if (isTimedOut(error)) return new PeerSilentError(error.message, {cause: error});
	return error.code?.startsWith('WS_ERR_') ? new PeerViolationError(error.message, {cause: error}) : error;
}

/** The kernel has given the peer up. */
function isTimedOut({code}: NodeJS.ErrnoException): boolean {
	return code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH';
}

function measureTextHeader(length: number): number {
	if (length < 126) return 2;
	return length < 65_536 ? 4 : MAX_HEADER_BYTES;
}

/** Writes the header of an unmasked text frame that is a whole message; returns the header's length. */
function writeTextHeader(target: Buffer, at: number, length: number): number {
	target[at] = 0x81;
	if (length < 126) {
		target[at + 1] = length;
		return 2;
	}
	if (length < 65_536) {
		target[at + 1] = 126;
		target.writeUInt16BE(length, at + 2);
		return 4;
	}
	target[at + 1] = 127;
	target.writeBigUInt64BE(BigInt(length), at + 2);
	return MAX_HEADER_BYTES;
}

interface Receiver extends EventEmitter {
	_payloadLength: number;
	_maxPayload: number;
	haveLength?: (callback: (error?: Error) => void) => void;
}

/** `ws` answers a close frame by itself: gathered frames are flushed before it. */
function flushBeforeCloseFrame(webSocket: WebSocket, flush: () => void): void {
	(webSocket as unknown as {_receiver?: Receiver})._receiver?.prependListener('conclude', flush);
}

/**
 * The library bounds messages but not single frames. Its receiver calls `haveLength` once a frame's length is known
 * and before the frame is read: a frame that is too long is held against a lower bound. A test fails should the
 * library change.
 */
function limitFrames(webSocket: WebSocket): void {
	const receiver = (webSocket as unknown as {_receiver?: Receiver})._receiver;
	if (!receiver?.haveLength) return;
	const haveLength = receiver.haveLength.bind(receiver);
	receiver.haveLength = callback => {
		if (receiver._payloadLength > MAX_FRAME_BYTES) receiver._maxPayload = MAX_FRAME_BYTES;
		haveLength(callback);
	};
}
