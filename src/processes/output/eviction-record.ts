/** Evicted chunks whose sizes are recorded, so that a late reader learns exactly how much it missed. */
export const MAX_RECORDED_EVICTIONS = 65_536;
/** Bytes of the head of a stream that are kept in addition to the tail that retention keeps. */
export const MAX_HEAD_BYTES = 64 * 1024;

/** An eviction record for another program. */
export interface EvictionState {
	/** Sequence number and running total of each recorded chunk, the oldest first. */
	readonly entries: Float64Array;
	readonly total: number;
}

const NOTHING_EVICTED: EvictionState = {entries: new Float64Array(0), total: 0};

/** Ring buffer of evicted chunk sizes by sequence number; grows up to its bound. */
export class EvictionRecord {
	readonly #seqs: number[] = [];
	/** Running total of evicted bytes, up to and including the chunk of the same slot. */
	readonly #totals: number[] = [];
	#start = 0;
	#total: number;

	constructor({entries, total}: EvictionState = NOTHING_EVICTED) {
		for (let index = 0; index < entries.length; index += 2) {
			this.#seqs.push(entries[index]!);
			this.#totals.push(entries[index + 1]!);
		}
		this.#total = total;
	}

	handOver(): EvictionState {
		const entries = new Float64Array(this.#seqs.length * 2);
		for (let index = 0; index < this.#seqs.length; index++) {
			entries[index * 2] = this.#valueAt(this.#seqs, index);
			entries[index * 2 + 1] = this.#valueAt(this.#totals, index);
		}
		return {entries, total: this.#total};
	}

	add(seq: number, bytes: number): void {
		this.#total += bytes;
		if (this.#seqs.length < MAX_RECORDED_EVICTIONS) {
			this.#seqs.push(seq);
			this.#totals.push(this.#total);
			return;
		}
		this.#seqs[this.#start] = seq;
		this.#totals[this.#start] = this.#total;
		this.#start = (this.#start + 1) % MAX_RECORDED_EVICTIONS;
	}

	/** Evicted bytes after `seq`. Exact at the very start and within the record; a lower bound in between. */
	bytesAfter(seq: number): number {
		if (seq === 0 || this.#seqs.length === 0) return this.#total;
		let low = 0;
		let high = this.#seqs.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.#valueAt(this.#seqs, middle) <= seq) low = middle + 1;
			else high = middle;
		}
		if (low > 0) return this.#total - this.#valueAt(this.#totals, low - 1);
		return this.#seqs.length < MAX_RECORDED_EVICTIONS ? this.#total : this.#total - this.#valueAt(this.#totals, 0);
	}

	#valueAt(ring: readonly number[], index: number): number {
		return ring[(this.#start + index) % ring.length]!;
	}
}

/** The first bytes of a stream. It is filled by eviction, so nothing is held twice. */
export class StreamHead {
	#bytes: Uint8Array;

	constructor(bytes: Uint8Array = new Uint8Array(0)) {
		this.#bytes = bytes;
	}

	get bytes(): Uint8Array {
		return this.#bytes;
	}

	/** Appends as much as fits; chunks come in the order of the stream. */
	add(bytes: Uint8Array): void {
		const room = MAX_HEAD_BYTES - this.#bytes.length;
		if (room === 0) return;
		const joined = new Uint8Array(this.#bytes.length + Math.min(room, bytes.length));
		joined.set(this.#bytes);
		joined.set(bytes.subarray(0, room), this.#bytes.length);
		this.#bytes = joined;
	}
}
