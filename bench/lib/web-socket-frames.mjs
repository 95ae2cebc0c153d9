// WebSocket frames (RFC 6455) by hand: of a client that may break the rules, and read without an allocation per frame.
export const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10];
const FINAL = 0x80;
const MASKED = 0x80;
const MAX_HEADER_BYTES = 14;

/** A frame as a client sends it, or as it must not; `length` may be a lie. The mask is zero: the payload goes out as it is. */
export function frame(
	payload,
	{final = true, opcode = TEXT, mask = 0, masked = true, length = payload.length, reserved = 0} = {},
) {
	const size = length < 126 ? 2 : length < 65_536 ? 4 : 10;
	const bytes = Buffer.allocUnsafe(size + (masked ? 4 : 0) + payload.length);
	bytes[0] = (final ? FINAL : 0) | reserved | opcode;
	bytes[1] = (masked ? MASKED : 0) | (size === 2 ? length : size === 4 ? 126 : 127);
	if (size === 4) bytes.writeUInt16BE(length, 2);
	if (size === 10) bytes.writeBigUInt64BE(BigInt(length), 2);
	if (masked) bytes.writeUInt32BE(mask, size);
	const start = bytes.length - payload.length;
	bytes.set(payload, start);
	if (mask !== 0)
		for (let index = 0; index < payload.length; index++) bytes[start + index] ^= bytes[size + (index & 3)];
	return bytes;
}

/**
 * Reads the frames of a server from pieces of any size. `piece(buffer, start, end, isLast)` gets the payload of messages
 * as it arrives, `control(opcode, payload)` whole control frames.
 */
export class FrameReader {
	#piece;
	#control;
	#header = Buffer.alloc(MAX_HEADER_BYTES);
	#headerLength = 0;
	#isInPayload = false;
	/** Bytes of the payload still to come. */
	#need = 0;
	#isFinal = true;
	#opcode = 0;
	#controlPayload = Buffer.alloc(0);

	constructor({piece, control}) {
		this.#piece = piece;
		this.#control = control;
	}

	feed(buffer, length = buffer.length) {
		let at = 0;
		while (at < length) {
			if (!this.#isInPayload) {
				this.#header[this.#headerLength++] = buffer[at++];
				if (!this.#readHeader() || this.#need > 0) continue;
			}
			const from = at;
			at += Math.min(this.#need, length - at);
			this.#need -= at - from;
			const isWhole = this.#need === 0;
			if (isWhole) this.#isInPayload = false;
			if (this.#opcode < CLOSE) this.#piece(buffer, from, at, isWhole && this.#isFinal);
			else {
				this.#controlPayload = Buffer.concat([this.#controlPayload, buffer.subarray(from, at)]);
				if (isWhole) this.#control(this.#opcode, this.#controlPayload);
			}
		}
	}

	/** Whether the header of a frame is complete. */
	#readHeader() {
		const header = this.#header;
		if (this.#headerLength < 2) return false;
		const short = header[1] & 0x7f;
		const wanted = short === 126 ? 4 : short === 127 ? 10 : 2;
		if (this.#headerLength < wanted) return false;
		this.#isFinal = (header[0] & FINAL) !== 0;
		this.#opcode = header[0] & 0x0f;
		this.#need = short === 126 ? header.readUInt16BE(2) : short === 127 ? Number(header.readBigUInt64BE(2)) : short;
		this.#headerLength = 0;
		this.#isInPayload = true;
		if (this.#opcode >= CLOSE) this.#controlPayload = Buffer.alloc(0);
		return true;
	}
}
