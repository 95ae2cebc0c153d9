import {isUtf8} from 'node:buffer';
import {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {RawData, WebSocket} from 'ws';
import type {Frame, JsonParts} from '../../protocol/encode.js';
import {FRAGMENT_BYTES, MAX_FRAME_BYTES} from '../../protocol/limits.js';
import {BlockPool} from '../../shared/node/block-pool.js';
import {bulkBlocks} from '../../shared/node/bulk-blocks.js';
import type {Transport, TransportEvents} from '../transport.js';
import {deliver} from './deliver.js';
import {partsToBuffer, writeParts} from './frame-bytes.js';
import {PooledPayloads} from './pooled-payloads.js';

/** How often the peer is pinged, so that nothing between us takes silence for death. */
export const PING_INTERVAL_MS = 30_000;

/** Silence after which the kernel asks whether the peer still exists; shorter than the pings, which hide silence. */
const KEEP_ALIVE_MS = 15_000;
/** Header of the longest frame. */
const LONGEST_HEADER_BYTES = 10;
/** Frames from this size on use memory again. */
const POOLED_FROM_BYTES = 32 * 1024;
/** The first holds the frame of the largest chunk of output, the second that of the largest block of a file. */
const FRAME_POOLS = [new BlockPool(96 * 1024, 32), bulkBlocks];

/** A WebSocket and the socket below it, which tells of back-pressure. */
export class WebSocketTransport implements Transport {
	readonly kind = 'websocket';
	readonly peer: string;
	readonly #webSocket: WebSocket;
	readonly #socket: Duplex;
	readonly #end: 'server' | 'client';
	#corked = false;

	constructor(webSocket: WebSocket, socket: Duplex, address: string, end: 'server' | 'client' = 'server') {
		this.#webSocket = webSocket;
		this.#socket = socket;
		this.#end = end;
		this.peer = `websocket ${address}`;
	}

	get backlog(): number {
		return this.#webSocket.bufferedAmount;
	}

	open(events: TransportEvents): void {
		// A peer that vanished without a word is noticed by the kernel, whatever its program does or does not answer.
		if (this.#socket instanceof Socket) this.#socket.setKeepAlive(true, KEEP_ALIVE_MS);
		const webSocket = this.#webSocket;
		limitFrames(webSocket);
		const payloads = new PooledPayloads(webSocket);
		let failure: Error | undefined;
		webSocket.on('message', (data, isBinary) => {
			// The library goes on with the packet it is reading although we have hung up.
			if (webSocket.readyState !== webSocket.OPEN) return;
			const bytes = data as Exclude<RawData, ArrayBuffer | Buffer[]>;
			// The library has checked text messages already.
			if (isBinary && !isUtf8(bytes)) events.unreadable('invalid UTF-8');
			else deliver(events, bytes);
			payloads.release();
		});
		webSocket.on('error', error => {
			failure = error;
			// The library would wait for a peer that broke the rules to hang up, for half a minute.
			webSocket.terminate();
		});
		this.#socket.on('drain', () => events.drained());
		const pings = setInterval(() => webSocket.ping(), PING_INTERVAL_MS);
		pings.unref();
		webSocket.on('close', () => {
			clearInterval(pings);
			events.closed(failure);
		});
	}

	send(frame: Frame): void {
		const webSocket = this.#webSocket;
		if (webSocket.readyState !== webSocket.OPEN) return;
		this.#cork();
		if (typeof frame !== 'string') this.#sendParts(frame);
		else if (frame.length <= FRAGMENT_BYTES / 3) webSocket.send(frame, {binary: false});
		else this.#sendInFragments(Buffer.from(frame));
	}

	pause(): void {
		this.#webSocket.pause();
	}

	resume(): void {
		this.#webSocket.resume();
	}

	close(): void {
		this.#webSocket.close();
	}

	destroy(): void {
		this.#webSocket.terminate();
	}

	/** Bulk goes out in one piece of used-again memory, its header in front: no copy, no garbage. */
	#sendParts(frame: JsonParts): void {
		const length = frame.byteLength;
		// What a client sends has to be masked, which the library does.
		if (length > FRAGMENT_BYTES || this.#end === 'client') {
			this.#sendInFragments(partsToBuffer(frame));
			return;
		}
		const pool = poolFor(length + LONGEST_HEADER_BYTES);
		const memory = pool?.take() ?? Buffer.allocUnsafe(length + LONGEST_HEADER_BYTES);
		const start = writeTextHeader(memory, length);
		const end = writeParts(frame, memory, start);
		this.#socket.write(memory.subarray(0, end), () => pool?.give(memory));
	}

	#sendInFragments(bytes: Uint8Array): void {
		for (let offset = 0; offset < bytes.length; offset += FRAGMENT_BYTES) {
			const end = offset + FRAGMENT_BYTES;
			this.#webSocket.send(bytes.subarray(offset, end), {binary: false, fin: end >= bytes.length});
		}
	}

	/** All messages of one turn of the event loop go to the kernel in one call. */
	#cork(): void {
		if (this.#corked) return;
		this.#corked = true;
		this.#socket.cork();
		setImmediate(() => {
			this.#corked = false;
			this.#socket.uncork();
		});
	}
}

function poolFor(bytes: number): BlockPool | undefined {
	return bytes < POOLED_FROM_BYTES ? undefined : FRAME_POOLS.find(({blockBytes}) => bytes <= blockBytes);
}

/** Writes the header of an unmasked text frame that is a whole message; returns its length. */
function writeTextHeader(target: Buffer, length: number): number {
	target[0] = 0x81;
	if (length < 126) {
		target[1] = length;
		return 2;
	}
	if (length < 65_536) {
		target[1] = 126;
		target.writeUInt16BE(length, 2);
		return 4;
	}
	target[1] = 127;
	target.writeBigUInt64BE(BigInt(length), 2);
	return LONGEST_HEADER_BYTES;
}

interface Receiver {
	_payloadLength: number;
	_maxPayload: number;
	haveLength?: (callback: (error?: Error) => void) => void;
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
