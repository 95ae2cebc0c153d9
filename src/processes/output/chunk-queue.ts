import type {Chunk} from './log-types.js';

/** Evicted slots at the front of the list before it is compacted. */
const MIN_COMPACTED_SLOTS = 1024;
const EVICTED: Chunk = {seq: 0, stream: 'stdout', bytes: new Uint8Array(0)};

/** Chunks of a log in the order of their numbers. A position counts from the first chunk ever, so it outlives evictions. */
export class ChunkQueue {
	#chunks: Chunk[];
	/** Slots at the front of the list that were evicted but not yet compacted. */
	#dropped = 0;
	#firstOrdinal: number;

	constructor(chunks: readonly Chunk[], firstOrdinal: number) {
		this.#chunks = [...chunks];
		this.#firstOrdinal = firstOrdinal;
	}

	/** Position of the oldest chunk. */
	get firstOrdinal(): number {
		return this.#firstOrdinal;
	}

	/** Position of the next chunk that will be added. */
	get endOrdinal(): number {
		return this.#firstOrdinal + this.length;
	}

	get length(): number {
		return this.#chunks.length - this.#dropped;
	}

	get first(): Chunk | undefined {
		return this.#chunks[this.#dropped];
	}

	at(ordinal: number): Chunk | undefined {
		return this.#chunks[ordinal - this.#firstOrdinal + this.#dropped];
	}

	/** The chunks from a position on. */
	from(ordinal: number): Chunk[] {
		return this.#chunks.slice(ordinal - this.#firstOrdinal + this.#dropped);
	}

	push(chunk: Chunk): void {
		this.#chunks.push(chunk);
	}

	/** Removes the oldest chunk, which must exist; `compact` follows after a batch of them. */
	shift(): Chunk {
		const chunk = this.#chunks[this.#dropped]!;
		this.#chunks[this.#dropped++] = EVICTED;
		this.#firstOrdinal++;
		return chunk;
	}

	compact(): void {
		if (this.#dropped < MIN_COMPACTED_SLOTS || this.#dropped * 2 < this.#chunks.length) return;
		this.#chunks = this.#chunks.slice(this.#dropped);
		this.#dropped = 0;
	}

	/** Position of the first chunk after `seq`: binary search, chunks are sorted by sequence number. */
	findAfter(seq: number): number {
		let low = this.#dropped;
		let high = this.#chunks.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.#chunks[middle]!.seq <= seq) low = middle + 1;
			else high = middle;
		}
		return low - this.#dropped + this.#firstOrdinal;
	}

	/** Chunks after an event: at least one if there is one, and no more than `maxBytes` of them otherwise. */
	page(afterSeq: number, maxBytes: number | undefined): Chunk[] {
		const chunks: Chunk[] = [];
		let size = 0;
		for (const chunk of this.from(this.findAfter(afterSeq))) {
			if (maxBytes !== undefined && chunks.length > 0 && size + chunk.bytes.length > maxBytes) break;
			chunks.push(chunk);
			size += chunk.bytes.length;
			if (maxBytes !== undefined && size >= maxBytes) break;
		}
		return chunks;
	}
}
