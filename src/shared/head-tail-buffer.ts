/** Default capacity of a buffer. */
export const MAX_KEPT_BYTES = 1024 * 1024;
const MIN_ALLOCATION_BYTES = 1024;

/** Text in place of the dropped bytes. */
export function omissionMarker(omitted: number): string {
	return `... ${omitted} bytes omitted ...`;
}

/**
 * Bounded buffer that keeps the head and the tail of a stream: half of the capacity for the first bytes, the rest as a
 * ring of the newest ones. The bytes dropped between them are counted.
 */
export class HeadTailBuffer {
	readonly cap: number;
	#headCap: number;
	readonly #head: ByteRing;
	readonly #tail: ByteRing;
	#omitted = 0;

	constructor(cap: number = MAX_KEPT_BYTES) {
		this.cap = cap;
		this.#headCap = Math.floor(cap / 2);
		this.#head = new ByteRing(this.#headCap);
		this.#tail = new ByteRing(cap - this.#headCap);
	}

	/** Number of dropped bytes. */
	get omitted(): number {
		return this.#omitted;
	}

	/** Number of bytes pushed or skipped, kept or not. */
	get total(): number {
		return this.#head.length + this.#tail.length + this.#omitted;
	}

	push(chunk: Uint8Array): void {
		const room = this.#headCap - this.#head.length;
		this.#head.push(chunk.subarray(0, room));
		this.#omitted += this.#tail.push(chunk.subarray(room));
	}

	/** Records a gap of `count` lost bytes. The head ends here, and the tail so far is dropped with the gap. */
	skip(count: number): void {
		if (count === 0) return;
		this.#headCap = this.#head.length;
		this.#omitted += this.#tail.length + count;
		this.#tail.clear();
	}

	/** Appends a later buffer of the same cap, with the result of pushing the bytes that one was given. */
	merge(later: HeadTailBuffer): void {
		if (later.cap !== this.cap) throw new RangeError(`cannot merge a buffer of ${later.cap} bytes into ${this.cap}`);
		for (const piece of later.#head.pieces()) this.push(piece);
		// After a gap the later tail is all that is left at the end.
		this.skip(later.#omitted);
		for (const piece of later.#tail.pieces()) this.push(piece);
	}

	/** Moves the content into a new buffer. */
	take(): HeadTailBuffer {
		const taken = new HeadTailBuffer(this.cap);
		taken.merge(this);
		this.#head.clear();
		this.#headCap = Math.floor(this.cap / 2);
		this.#tail.clear();
		this.#omitted = 0;
		return taken;
	}

	/** Head and tail, concatenated. */
	bytes(): Uint8Array {
		return concatBytes([...this.#head.pieces(), ...this.#tail.pieces()]);
	}

	/** Like bytes(), with the omission marker on a line between head and tail if bytes were dropped. */
	markedBytes(): Uint8Array {
		if (this.#omitted === 0) return this.bytes();
		const marker = new TextEncoder().encode(`\n${omissionMarker(this.#omitted)}\n`);
		return concatBytes([...this.#head.pieces(), marker, ...this.#tail.pieces()]);
	}
}

function concatBytes(pieces: readonly Uint8Array[]): Uint8Array {
	const result = new Uint8Array(pieces.reduce((sum, {length}) => sum + length, 0));
	let at = 0;
	for (const piece of pieces) {
		result.set(piece, at);
		at += piece.length;
	}
	return result;
}

/** Ring buffer of the newest bytes of a stream. Memory grows with the content, up to the capacity. */
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

	/** Copies the chunk. Returns the number of dropped bytes, oldest first, those of the chunk included. */
	push(chunk: Uint8Array): number {
		const dropped = Math.max(0, this.#length + chunk.length - this.#cap);
		const kept = chunk.subarray(Math.max(0, chunk.length - this.#cap));
		this.#dropOldest(Math.min(dropped, this.#length));
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

	#dropOldest(count: number): void {
		this.#length -= count;
		this.#start = this.#length === 0 ? 0 : (this.#start + count) % this.#memory.length;
	}

	#reserve(needed: number): void {
		if (needed <= this.#memory.length) return;
		const size = Math.min(this.#cap, Math.max(needed, 2 * this.#memory.length, MIN_ALLOCATION_BYTES));
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
