import type {Duplex} from 'node:stream';
import type {WebSocket} from 'ws';
import {takeReads} from './direct-reads.js';

/** Longest message that is taken past the library, in bytes. */
const MAX_SHORT_PAYLOAD_BYTES = 16 * 1024;
/** First byte of a frame that is a whole text message, without extensions. */
const WHOLE_TEXT = 0x81;
const MASKED = 0x80;
/** Values of a frame's length that stand for a length of two and of eight bytes behind it. */
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const MASK_BYTES = 4;
/** Stands for bytes that are no UTF-8, in a text that was decoded nevertheless. */
const REPLACEMENT = '\ufffd';
/** The library waits for the first byte of a frame. */
const GET_INFO = 0;
const CLOSE_OPCODE = 8;

interface Receiver {
	readonly _state: number;
	readonly _opcode: number;
	readonly _bufferedBytes: number;
	readonly _fragmented: number;
	readonly _loop: boolean;
	readonly _errored: boolean;
	/** 0 for no bound. */
	readonly _maxPayload: number;
	readonly writable: boolean;
	readonly writableLength: number;
	write?: (chunk: Buffer) => boolean;
}

export interface ReadEvents {
	/** Called around all messages of one read. */
	begin(): void;
	end(): void;
	/** One whole text message. */
	message(text: string): void;
}

/**
 * Takes short text messages out of what was read from the socket of a server before the library sees it, whose state machine
 * and stream cost more than all else that is done for a small request. Everything else, and everything the library would
 * refuse, is left to it, from a frame's first byte on. The library hands each read to `write` of its receiver; a test
 * fails should it change.
 */
export function takeShortMessages(webSocket: WebSocket, socket: Duplex, events: ReadEvents): void {
	const receiver = (webSocket as unknown as {_receiver?: Receiver})._receiver;
	const write = receiver?.write?.bind(receiver);
	if (!receiver || !write) return;
	const take = (chunk: Buffer): boolean => {
		events.begin();
		const isAlone = isBetweenMessages(receiver) && webSocket.listenerCount('message') === 1;
		const taken = isAlone ? takeAll(chunk, receiver._maxPayload || MAX_SHORT_PAYLOAD_BYTES, events) : 0;
		const isWritable = taken === chunk.length || write(taken === 0 ? chunk : chunk.subarray(taken));
		events.end();
		return isWritable;
	};
	receiver.write = take;
	takeReads(socket, take);
}

function isBetweenMessages(receiver: Receiver): boolean {
	return (
		receiver._state === GET_INFO &&
		receiver._bufferedBytes === 0 &&
		receiver._fragmented === 0 &&
		!receiver._loop &&
		!receiver._errored &&
		receiver._opcode !== CLOSE_OPCODE &&
		receiver.writable &&
		receiver.writableLength === 0
	);
}

/** Returns where the first frame begins that is not taken. */
function takeAll(chunk: Buffer, maxPayload: number, events: ReadEvents): number {
	let at = 0;
	while (at + 2 + MASK_BYTES <= chunk.length && chunk[at] === WHOLE_TEXT) {
		const second = chunk[at + 1]!;
		let length = second & ~MASKED;
		if ((second & MASKED) === 0 || length === LENGTH_64) break;
		let start = at + 2 + MASK_BYTES;
		if (length === LENGTH_16) {
			length = (chunk[at + 2]! << 8) | chunk[at + 3]!;
			start += 2;
		}
		const end = start + length;
		if (length > MAX_SHORT_PAYLOAD_BYTES || length > maxPayload || end > chunk.length) break;
		unmask(chunk, start, end);
		const text = chunk.toString('utf8', start, end);
		if (text.includes(REPLACEMENT)) {
			// Either that very character, or no UTF-8: masked again, for the library to tell.
			unmask(chunk, start, end);
			break;
		}
		events.message(text);
		at = end;
	}
	return at;
}

/** Applies the mask in front of the payload; twice it changes nothing. */
function unmask(chunk: Buffer, start: number, end: number): void {
	const mask = start - MASK_BYTES;
	if (chunk[mask] === 0 && chunk[mask + 1] === 0 && chunk[mask + 2] === 0 && chunk[mask + 3] === 0) return;
	for (let at = start; at < end; at++) chunk[at]! ^= chunk[mask + ((at - start) & 3)]!;
}
