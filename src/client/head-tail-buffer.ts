import {ByteRing} from './byte-ring.js';

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
