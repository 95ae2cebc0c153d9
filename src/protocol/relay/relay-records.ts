/** Plaintext of one record. */
export const MAX_RECORD_BYTES = 61_440;
/** Longest message inside a channel. */
export const MAX_CHANNEL_MESSAGE_BYTES = 64 * 1024 * 1024;
/** Records that may be ahead of the next one. */
export const MAX_RECORDS_AHEAD = 64;
/** Bytes of records that wait for an earlier one. */
export const MAX_HELD_BYTES = 1024 * 1024;
/** Of the length in front of every message. */
export const LENGTH_BYTES = 4;

/** The peer broke the rules of the channel: its stream has to be reset. */
export class ChannelViolationError extends Error {
	override readonly name = 'ChannelViolationError';
}

/** Messages on their way into records, of which each holds as much as fits, of one message or several. */
export class RecordPacker {
	readonly #messages: Uint8Array[] = [];
	/** Bytes of the first message that were taken already. */
	#taken = 0;
	#waiting = 0;

	/** Bytes that wait for a record. */
	get waiting(): number {
		return this.#waiting;
	}

	/** A message behind `LENGTH_BYTES` of room for its length, which is written here. */
	push(message: Uint8Array): void {
		const {buffer, byteOffset, length} = message;
		new DataView(buffer, byteOffset).setUint32(0, length - LENGTH_BYTES);
		this.#messages.push(message);
		this.#waiting += length;
	}

	/** Pieces of the next full record, or of what is left with `isLast`; none if there is not enough. */
	take(isLast: boolean): Uint8Array[] {
		const pieces: Uint8Array[] = [];
		let room = MAX_RECORD_BYTES;
		if (this.#waiting < room && !isLast) return pieces;
		while (room > 0 && this.#messages.length > 0) {
			const [message] = this.#messages;
			const piece = message!.subarray(this.#taken, this.#taken + room);
			pieces.push(piece);
			room -= piece.length;
			this.#taken += piece.length;
			if (this.#taken < message!.length) continue;
			this.#messages.shift();
			this.#taken = 0;
		}
		this.#waiting -= MAX_RECORD_BYTES - room;
		return pieces;
	}

	clear(): void {
		this.#messages.length = 0;
		this.#taken = 0;
		this.#waiting = 0;
	}
}

/** Puts messages together from records, of which each may hold parts of several. */
export class MessageAssembler {
	readonly #header = new Uint8Array(LENGTH_BYTES);
	#headerFilled = 0;
	#length = 0;
	#pieces: Uint8Array[] = [];
	#received = 0;

	/** The messages that are whole now. Throws a `ChannelViolationError` for a length out of bounds. */
	*push(record: Uint8Array): Generator<Uint8Array> {
		let at = 0;
		while (at < record.length) {
			if (this.#headerFilled < LENGTH_BYTES) {
				const taken = Math.min(LENGTH_BYTES - this.#headerFilled, record.length - at);
				this.#header.set(record.subarray(at, at + taken), this.#headerFilled);
				this.#headerFilled += taken;
				at += taken;
				if (this.#headerFilled === LENGTH_BYTES) this.#length = this.#readLength();
				continue;
			}
			const piece = record.subarray(at, at + this.#length - this.#received);
			at += piece.length;
			this.#received += piece.length;
			this.#pieces.push(piece);
			if (this.#received === this.#length) yield this.#takeMessage();
		}
	}

	#readLength(): number {
		const length = new DataView(this.#header.buffer).getUint32(0);
		if (length > 0 && length <= MAX_CHANNEL_MESSAGE_BYTES) return length;
		throw new ChannelViolationError(`a message of ${length} bytes is out of bounds`);
	}

	#takeMessage(): Uint8Array {
		const [only] = this.#pieces;
		const message = this.#pieces.length === 1 ? only! : join(this.#pieces, this.#length);
		this.#pieces = [];
		this.#received = 0;
		this.#headerFilled = 0;
		return message;
	}
}

function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
	const joined = new Uint8Array(length);
	let at = 0;
	for (const piece of pieces) {
		joined.set(piece, at);
		at += piece.length;
	}
	return joined;
}

/** Puts records in order before they are opened, since their nonce is their place. */
export class RecordWindow {
	readonly #held = new Map<number, Uint8Array>();
	#heldBytes = 0;
	#next = 0;

	/** The records that are in order now; a repeated one gives none. Throws a `ChannelViolationError` beyond the bounds. */
	*push(seq: number, payload: Uint8Array): Generator<Uint8Array> {
		if (seq < this.#next || this.#held.has(seq)) return;
		if (seq - this.#next > MAX_RECORDS_AHEAD) throw new ChannelViolationError('a record is too far ahead');
		if (seq !== this.#next) {
			this.#heldBytes += payload.length;
			if (this.#heldBytes > MAX_HELD_BYTES) throw new ChannelViolationError('too much waits for an earlier record');
			this.#held.set(seq, payload);
			return;
		}
		this.#next++;
		yield payload;
		for (let ready = this.#held.get(this.#next); ready; ready = this.#held.get(this.#next)) {
			this.#held.delete(this.#next);
			this.#heldBytes -= ready.length;
			this.#next++;
			yield ready;
		}
	}
}
