import {randomUUID} from 'node:crypto';
import {type BinaryPayload, PAYLOAD_MEMBERS} from '../../protocol/wire/binary-payload.js';
import {Base64Error, decodeBase64, encodeBase64} from '../../shared/base64.js';
import {payloadBuffers} from '../../shared/node/buffer-pool.js';
import type {TransportEvents} from '../transport.js';

/** Shorter values are not worth it. */
export const EXTRACT_FROM_BYTES = 64 * 1024;
/** Strings of a message that are looked at; a message with a payload has few. */
const MAX_STRINGS = 64;
/** Characters decoded at a time, a multiple of four; small enough for a string in the young part of the heap. */
export const SLICE_CHARS = 64 * 1024;
/** Smallest share of a pooled block a payload may use, as one part in so many: a retained payload keeps its whole block. */
export const MIN_SHARE_DIVISOR = 2;
/** Bytes of a full slice. */
const SLICE_BYTES = (SLICE_CHARS / 4) * 3;
/** More than the name of the longest member and what is around it. */
const MEMBER_BYTES = 32;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MEMBER = new RegExp(`"(${PAYLOAD_MEMBERS.join('|')})"\\s*:\\s*"$`);
/** Random, so that no peer can put it into a message. */
let knownPlaceholder: string | undefined;

/** The text that stands for a payload in its message. */
export function placeholderText(): string {
	knownPlaceholder ??= randomUUID();
	return knownPlaceholder;
}

export interface ExtractedPayload<Payload = BinaryPayload> {
	readonly text: string;
	readonly payload: Payload;
}

/**
 * Takes the long base64 value out of a message, if there is one, and decodes it: into a pooled buffer if it is about as
 * large as a block of a file, and in place if it is larger, because fresh memory costs more than the decoding.
 */
export function extractPayload(message: Buffer): ExtractedPayload<BinaryPayload<Uint8Array>> | undefined {
	const place = longString(message);
	const member = place && memberBefore(message, place.start);
	if (!place || !member || place.end === -1) return undefined;
	const {start, end} = place;
	const {memory, release} = memoryFor(message.subarray(start, end));
	const length = decodeInto(memory, message, start, end);
	if (length === undefined) {
		release();
		return undefined;
	}
	const placeholder = placeholderText();
	const text = message.toString('utf8', 0, start) + placeholder + message.toString('utf8', end);
	const bytes = memory.subarray(0, length);
	const original = (): string => text.replace(placeholder, () => encodeBase64(bytes));
	return {text, payload: {member, placeholder, bytes, release, original}};
}

/** The member whose value begins at `start`, if it is one that may hold a payload. */
export function memberBefore(message: Buffer, start: number): BinaryPayload['member'] | undefined {
	const before = message.toString('latin1', Math.max(0, start - MEMBER_BYTES), start);
	return MEMBER.exec(before)?.[1] as BinaryPayload['member'] | undefined;
}

function memoryFor(encoded: Buffer): {memory: Buffer; release: () => void} {
	const bytes = Math.floor(encoded.length / 4) * 3;
	const {blockBytes} = payloadBuffers;
	if (bytes > blockBytes) return {memory: encoded, release: () => {}};
	if (bytes < blockBytes / MIN_SHARE_DIVISOR) return {memory: Buffer.allocUnsafeSlow(bytes), release: () => {}};
	const memory = payloadBuffers.take();
	return {memory, release: () => payloadBuffers.give(memory)};
}

/**
 * The first long string, found from quote to quote; none where an escaped quote makes that unsafe. The end is -1 if the
 * text ends before the string does.
 */
export function longString(message: Buffer): {start: number; end: number} | undefined {
	for (let at = 0, count = 0; count < MAX_STRINGS; count++) {
		const start = message.indexOf(QUOTE, at) + 1;
		if (start === 0) return undefined;
		const end = message.indexOf(QUOTE, start);
		if (end === -1) return message.length - start >= EXTRACT_FROM_BYTES ? {start, end} : undefined;
		if (message[end - 1] === BACKSLASH) return undefined;
		if (end - start >= EXTRACT_FROM_BYTES) return {start, end};
		at = end + 1;
	}
	return undefined;
}

/** The number of bytes; undefined, with the message as it was, unless it is canonical base64 from beginning to end. */
function decodeInto(target: Buffer, message: Buffer, start: number, end: number): number | undefined {
	let to = 0;
	for (let from = start; from < end; from += SLICE_CHARS) {
		const text = message.toString('latin1', from, Math.min(from + SLICE_CHARS, end));
		const length = decodeSlice(target, to, text, from + SLICE_CHARS >= end);
		if (length === undefined) {
			message.write(text, from, 'latin1');
			restoreSlices(target, message, start, to / SLICE_BYTES);
			return undefined;
		}
		to += length;
	}
	return to;
}

/** Encodes the first slices again, the last one first: none is overwritten before its turn. */
function restoreSlices(target: Buffer, message: Buffer, start: number, count: number): void {
	for (let index = count - 1; index >= 0; index--) {
		const text = target.toString('base64', index * SLICE_BYTES, (index + 1) * SLICE_BYTES);
		message.write(text, start + index * SLICE_CHARS, 'latin1');
	}
}

/** Undefined unless every symbol counted. Without `isLast` the text is a multiple of four long. */
export function decodeSlice(target: Buffer, to: number, text: string, isLast: boolean): number | undefined {
	if (isLast) {
		try {
			return Buffer.from(decodeBase64(text)).copy(target, to);
		} catch (error) {
			if (error instanceof Base64Error) return undefined;
			throw error;
		}
	}
	// The runtime also takes the URL-safe alphabet.
	if (text.includes('-') || text.includes('_')) return undefined;
	const length = (text.length / 4) * 3;
	return target.write(text, to, length, 'base64') === length ? length : undefined;
}

/** Entry of every received message of the Node transports. Takes the buffer, which holds UTF-8, from the caller. */
export function deliverMessage(events: TransportEvents, message: Buffer): void {
	const extracted = message.length > EXTRACT_FROM_BYTES ? extractPayload(message) : undefined;
	if (extracted) events.message(extracted.text, extracted.payload);
	else events.message(message.toString());
}
