// Data frames in the one form that every sender gives them, read and written at once: nearly all bytes of a relay are in them.
const VERSION_AND_ID = [0x08, 1, 0x12] as const;
const DATA_TAG = 0x2a;
const SEQ_TAG = 0x08;
/** Tag and value of the number of segments. */
const ONE_SEGMENT = [0x18, 1] as const;
const PAYLOAD_TAG = 0x22;
/** Ids whose length takes one byte. */
const MAX_ID_BYTES = 0x7f;
const MAX_VARINT_BYTES = 5;
const MAX_UINT32 = 0xffff_ffff;
const SPACE = 0x20;
const DELETE = 0x7f;

/** Writes the data frames of one stream. */
export class DataFrames {
	readonly #head: Uint8Array;
	readonly #allocate: (length: number) => Uint8Array;

	/** `allocate` may leave any content in the memory it returns. */
	constructor(streamId: string, allocate: (length: number) => Uint8Array) {
		const id = new TextEncoder().encode(streamId);
		if (id.length > MAX_ID_BYTES) throw new RangeError(`a stream id of ${id.length} bytes is too long`);
		this.#head = Uint8Array.of(...VERSION_AND_ID, id.length, ...id, DATA_TAG);
		this.#allocate = allocate;
	}

	/** A frame with a payload in pieces. */
	encode(seq: number, payload: readonly Uint8Array[]): Uint8Array {
		const length = payload.reduce((sum, piece) => sum + piece.length, 0);
		const numbers = (seq === 0 ? 0 : 1 + lengthOfVarint(seq)) + ONE_SEGMENT.length;
		const body = numbers + 1 + lengthOfVarint(length) + length;
		const frame = this.#allocate(this.#head.length + lengthOfVarint(body) + body);
		frame.set(this.#head);
		let at = writeVarint(frame, this.#head.length, body);
		if (seq !== 0) {
			frame[at] = SEQ_TAG;
			at = writeVarint(frame, at + 1, seq);
		}
		frame.set(ONE_SEGMENT, at);
		frame[at + ONE_SEGMENT.length] = PAYLOAD_TAG;
		at = writeVarint(frame, at + ONE_SEGMENT.length + 1, length);
		for (const piece of payload) {
			frame.set(piece, at);
			at += piece.length;
		}
		return frame;
	}
}

export interface DataFrame {
	readonly streamId: string;
	readonly seq: number;
	readonly payload: Uint8Array;
}

/** Undefined for any other frame, also for one with the same meaning in another form. */
export function readDataFrame(bytes: Uint8Array): DataFrame | undefined {
	const idAt = VERSION_AND_ID.length + 1;
	const idEnd = idAt + (bytes[idAt - 1] ?? 0);
	const isDataOfStream = VERSION_AND_ID.every((byte, index) => bytes[index] === byte) && bytes[idEnd] === DATA_TAG;
	if (!isDataOfStream || idEnd === idAt || idEnd - idAt > MAX_ID_BYTES) return undefined;
	const cursor = {at: idEnd + 1};
	if (!endsBehind(bytes, cursor)) return undefined;
	let seq: number | undefined = 0;
	if (bytes[cursor.at] === SEQ_TAG) {
		cursor.at++;
		seq = readVarint(bytes, cursor);
	}
	for (const byte of [...ONE_SEGMENT, PAYLOAD_TAG]) if (bytes[cursor.at++] !== byte) return undefined;
	if (seq === undefined || !endsBehind(bytes, cursor) || cursor.at === bytes.length) return undefined;
	const streamId = readId(bytes, idAt, idEnd);
	return streamId === undefined ? undefined : {streamId, seq, payload: bytes.subarray(cursor.at)};
}

/** Reads a length; whether it is that of the rest. */
function endsBehind(bytes: Uint8Array, cursor: {at: number}): boolean {
	const length = readVarint(bytes, cursor);
	return length !== undefined && cursor.at + length === bytes.length;
}

/** Undefined for an id with anything but visible ASCII. */
function readId(bytes: Uint8Array, start: number, end: number): string | undefined {
	let id = '';
	for (let at = start; at < end; at++) {
		const code = bytes[at]!;
		if (code <= SPACE || code >= DELETE) return undefined;
		id += String.fromCharCode(code);
	}
	return id;
}

/** Undefined for a number that is cut off, longer than it has to be, or above 32 bits. */
function readVarint(bytes: Uint8Array, cursor: {at: number}): number | undefined {
	let value = 0;
	for (let count = 0; count < MAX_VARINT_BYTES; count++) {
		const byte = bytes[cursor.at++];
		if (byte === undefined) return undefined;
		value += (byte & 0x7f) * 2 ** (7 * count);
		if (byte < 0x80) return (byte === 0 && count > 0) || value > MAX_UINT32 ? undefined : value;
	}
	return undefined;
}

function writeVarint(target: Uint8Array, start: number, value: number): number {
	let at = start;
	let rest = value;
	for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) target[at++] = (rest & 0x7f) | 0x80;
	target[at++] = rest;
	return at;
}

function lengthOfVarint(value: number): number {
	let length = 1;
	for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++;
	return length;
}
