/** How much of the beginning of a stream is kept beside what retention keeps of its end. */
export const HEAD_BYTES = 64 * 1024;

/** The first bytes of a stream. It is filled by eviction, so nothing is held twice. */
export class StreamHead {
	#bytes: Uint8Array = new Uint8Array(0);

	get bytes(): Uint8Array {
		return this.#bytes;
	}

	/** Takes what still fits; the bytes must follow those before. */
	add(bytes: Uint8Array): void {
		const room = HEAD_BYTES - this.#bytes.length;
		if (room === 0) return;
		const joined = new Uint8Array(this.#bytes.length + Math.min(room, bytes.length));
		joined.set(this.#bytes);
		joined.set(bytes.subarray(0, room), this.#bytes.length);
		this.#bytes = joined;
	}
}
