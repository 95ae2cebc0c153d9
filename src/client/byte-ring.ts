const SMALLEST_ALLOCATION = 1024;

/** The newest bytes of a stream, up to a number of them. Memory grows with what is in it. */
export class ByteRing {
	readonly #cap: number;
	#memory = new Uint8Array(0);
	#start = 0;
	#length = 0;

	constructor(cap: number) {
		this.#cap = cap;
	}

	get length(): number {
		return this.#length;
	}

	/** Takes a copy. Says how many of the oldest bytes had to go, those of the chunk included. */
	push(chunk: Uint8Array): number {
		const dropped = Math.max(0, this.#length + chunk.length - this.#cap);
		const kept = chunk.subarray(Math.max(0, chunk.length - this.#cap));
		this.#forget(Math.min(dropped, this.#length));
		this.#reserve(this.#length + kept.length);
		this.#append(kept);
		return dropped;
	}

	clear(): void {
		this.#memory = new Uint8Array(0);
		this.#start = 0;
		this.#length = 0;
	}

	/** Oldest first, in at most two pieces. Valid until the next change. */
	pieces(): Uint8Array[] {
		const end = this.#start + this.#length;
		const size = this.#memory.length;
		const first = this.#memory.subarray(this.#start, Math.min(end, size));
		return end > size ? [first, this.#memory.subarray(0, end - size)] : [first];
	}

	#forget(count: number): void {
		this.#length -= count;
		this.#start = this.#length === 0 ? 0 : (this.#start + count) % this.#memory.length;
	}

	#reserve(needed: number): void {
		if (needed <= this.#memory.length) return;
		const size = Math.min(this.#cap, Math.max(needed, 2 * this.#memory.length, SMALLEST_ALLOCATION));
		const memory = new Uint8Array(size);
		let at = 0;
		for (const piece of this.pieces()) {
			memory.set(piece, at);
			at += piece.length;
		}
		this.#memory = memory;
		this.#start = 0;
	}

	#append(bytes: Uint8Array): void {
		if (bytes.length === 0) return;
		const at = (this.#start + this.#length) % this.#memory.length;
		const untilEnd = bytes.subarray(0, this.#memory.length - at);
		this.#memory.set(untilEnd, at);
		this.#memory.set(bytes.subarray(untilEnd.length), 0);
		this.#length += bytes.length;
	}
}
