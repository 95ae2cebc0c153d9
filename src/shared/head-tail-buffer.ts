/** What is kept of a stream where nobody says otherwise. */
export const KEPT_BYTES = 1024 * 1024;

/** What stands where bytes are missing. */
export function omissionMarker(omitted: number): string {
	return `... ${omitted} bytes omitted ...`;
}

/**
 * The beginning and the end of a stream within a bound: half of it for the first bytes, the rest for the newest ones.
 * What falls out between the two is counted.
 */
export class HeadTailBuffer {
	readonly cap: number;
	#headCap: number;
	readonly #head: ByteRing;
	readonly #tail: ByteRing;
	#omitted = 0;

	constructor(cap: number = KEPT_BYTES) {
		this.cap = cap;
		this.#headCap = Math.floor(cap / 2);
		this.#head = new ByteRing(this.#headCap);
		this.#tail = new ByteRing(cap - this.#headCap);
	}

	/** Bytes that are not kept. */
	get omitted(): number {
		return this.#omitted;
	}

	/** Bytes that were pushed, kept or not. */
	get total(): number {
		return this.#head.length + this.#tail.length + this.#omitted;
	}

	push(chunk: Uint8Array): void {
		const room = this.#headCap - this.#head.length;
		this.#head.push(chunk.subarray(0, room));
		this.#omitted += this.#tail.push(chunk.subarray(room));
	}

	/** So many bytes came here that nobody has. They are missing behind the head, which is as long as it gets. */
	skip(count: number): void {
		if (count === 0) return;
		this.#headCap = this.#head.length;
		this.#omitted += this.#tail.length + count;
		this.#tail.clear();
	}

	/** Adds what a later buffer of the same cap holds: the same as pushing the bytes it was given. */
	merge(later: HeadTailBuffer): void {
		if (later.cap !== this.cap) throw new RangeError(`cannot merge a buffer of ${later.cap} bytes into ${this.cap}`);
		for (const piece of later.#head.pieces()) this.push(piece);
		// Where bytes are missing the later tail is all there is at the end.
		this.skip(later.#omitted);
		for (const piece of later.#tail.pieces()) this.push(piece);
	}

	/** Empties the buffer into a new one. */
	take(): HeadTailBuffer {
		const taken = new HeadTailBuffer(this.cap);
		taken.merge(this);
		this.#head.clear();
		this.#headCap = Math.floor(this.cap / 2);
		this.#tail.clear();
		this.#omitted = 0;
		return taken;
	}

	/** Head and tail, one behind the other. */
	bytes(): Uint8Array {
		return joined([...this.#head.pieces(), ...this.#tail.pieces()]);
	}

	/** The same with a line between them that says how much is missing, if any is. */
	markedBytes(): Uint8Array {
		if (this.#omitted === 0) return this.bytes();
		const marker = new TextEncoder().encode(`\n${omissionMarker(this.#omitted)}\n`);
		return joined([...this.#head.pieces(), marker, ...this.#tail.pieces()]);
	}
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
	const result = new Uint8Array(pieces.reduce((sum, {length}) => sum + length, 0));
	let at = 0;
	for (const piece of pieces) {
		result.set(piece, at);
		at += piece.length;
	}
	return result;
}

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
