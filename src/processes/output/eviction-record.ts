/** Evicted chunks whose sizes are remembered, so that a late reader learns exactly how much it missed. */
export const REMEMBERED_EVICTIONS = 65_536;

/** Sizes of the chunks that went, by number; a ring that grows up to its bound. */
export class EvictionRecord {
	#seqs: number[] = [];
	/** Bytes evicted before and with the chunk of the same slot, since the start. */
	#totals: number[] = [];
	#start = 0;
	#total = 0;

	add(seq: number, bytes: number): void {
		this.#total += bytes;
		if (this.#seqs.length < REMEMBERED_EVICTIONS) {
			this.#seqs.push(seq);
			this.#totals.push(this.#total);
			return;
		}
		this.#seqs[this.#start] = seq;
		this.#totals[this.#start] = this.#total;
		this.#start = (this.#start + 1) % REMEMBERED_EVICTIONS;
	}

	/** Exact for a cursor at the very start and for one within the record; for one between them, at least this much. */
	bytesAfter(seq: number): number {
		if (seq === 0 || this.#seqs.length === 0) return this.#total;
		let low = 0;
		let high = this.#seqs.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.#at(this.#seqs, middle) <= seq) low = middle + 1;
			else high = middle;
		}
		if (low > 0) return this.#total - this.#at(this.#totals, low - 1);
		return this.#seqs.length < REMEMBERED_EVICTIONS ? this.#total : this.#total - this.#at(this.#totals, 0);
	}

	#at(ring: readonly number[], index: number): number {
		return ring[(this.#start + index) % ring.length]!;
	}
}

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
