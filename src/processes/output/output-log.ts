import type {EndReason, OutputStream} from '../../protocol/methods/process-methods.js';
import {EvictionRecord, StreamHead} from './eviction-record.js';
import {type CursorPosition, type CursorSource, DriverCursor, ObserverCursor} from './log-cursor.js';
import type {RetentionBudget} from './retention-budget.js';

export type {EndReason, OutputStream};

export interface Exit {
	readonly exitCode: number;
	readonly reason: EndReason;
	/** It looks as if the sandbox was the reason of a failure; absent without a sandbox. */
	readonly sandboxDenied?: boolean;
}

export interface Chunk {
	readonly seq: number;
	readonly stream: OutputStream;
	readonly bytes: Uint8Array;
}

export interface Retention {
	/** Bytes of output kept for readers, over all streams of a process. */
	readonly bytes: number;
	/** Chunks kept, however small. */
	readonly chunks: number;
	/** What all processes together may keep. */
	readonly budget?: RetentionBudget;
}

/** One stream from its beginning to now, with what is missing in between. */
export interface StreamView {
	/** Head and tail in one; `omittedBytes` are missing after the first `headBytes`. */
	readonly bytes: Uint8Array;
	readonly headBytes: number;
	readonly omittedBytes: number;
	readonly totalBytes: number;
}

export interface OutputPage {
	readonly chunks: readonly Chunk[];
	readonly nextSeq: number;
	/** Bytes newer than the cursor that are no longer retained. */
	readonly missedBytes: number;
}

/** Dropped slots at the front of the chunk list before it is moved together. */
const COMPACT_AFTER = 1024;

/** Callbacks into whatever produces the output. */
export interface LogOwner {
	/** Gets the memory of evicted chunks back; see `read` for what that asks of readers. */
	release?(bytes: Uint8Array): void;
	/** The driver's cursor has moved, came or went: the child may have to be paused or resumed. */
	driverMoved?(): void;
}

/**
 * Numbered log of one process, from 1 without gaps over output, exit and close. It is queue and retention at once: any
 * number of cursors walk it for delivery, `read` looks into it, and the oldest chunks are evicted when retention is
 * full, but never one that the driver's cursor has yet to deliver.
 */
export class OutputLog implements CursorSource {
	readonly #retention: Retention;
	readonly #owner: LogOwner;
	/** Undefined once the log counts for nothing any more. */
	#budget: RetentionBudget | undefined;
	#chunks: Chunk[] = [];
	/** Slots at the front of `#chunks` that were evicted but not yet moved over. */
	#dropped = 0;
	#firstOrdinal = 0;
	#retainedBytes = 0;
	#totalBytes = 0;
	#nextSeq = 1;
	readonly #evictions = new EvictionRecord();
	readonly #heads = new Map<OutputStream, StreamHead>();
	readonly #streamBytes = new Map<OutputStream, number>();
	#exit: (Exit & {readonly seq: number}) | undefined;
	#closedSeq: number | undefined;
	#driver: DriverCursor | undefined;
	/** Called after every event, in the order of their coming. */
	readonly #watchers = new Set<() => void>();

	constructor(retention: Retention, owner: LogOwner = {}) {
		this.#retention = retention;
		this.#budget = retention.budget;
		this.#owner = owner;
	}

	/** The number the next event will get. */
	get nextSeq(): number {
		return this.#nextSeq;
	}

	get exit(): (Exit & {readonly seq: number}) | undefined {
		return this.#exit;
	}

	get closedSeq(): number | undefined {
		return this.#closedSeq;
	}

	get totalBytes(): number {
		return this.#totalBytes;
	}

	get retainedBytes(): number {
		return this.#retainedBytes;
	}

	/** The log owns `bytes` from here on. */
	append(stream: OutputStream, bytes: Uint8Array): void {
		if (this.#closedSeq !== undefined) throw new Error('output after closed');
		this.#chunks.push({seq: this.#nextSeq++, stream, bytes});
		this.#retainedBytes += bytes.length;
		this.#totalBytes += bytes.length;
		this.#streamBytes.set(stream, this.streamBytes(stream) + bytes.length);
		this.#budget?.added(this, bytes.length);
		this.#trim();
		this.#changed();
	}

	recordExit(exit: Exit): void {
		if (this.#exit) throw new Error('exited twice');
		this.#exit = {seq: this.#nextSeq++, ...exit};
		this.#changed();
	}

	recordClose(): void {
		if (!this.#exit || this.#closedSeq !== undefined) throw new Error('closed before exited, or twice');
		this.#closedSeq = this.#nextSeq++;
		this.#changed();
	}

	/**
	 * Retained chunks after `afterSeq`, oldest first. `maxBytes` stops before a chunk that would exceed it, but a page
	 * holds at least one chunk if there is one. The bytes are valid until the log takes in more: use them at once.
	 */
	read(afterSeq: number, maxBytes?: number): OutputPage {
		const chunks: Chunk[] = [];
		let size = 0;
		for (let index = this.#indexAfter(afterSeq); index < this.#chunks.length; index++) {
			const chunk = this.#chunks[index]!;
			if (maxBytes !== undefined && chunks.length > 0 && size + chunk.bytes.length > maxBytes) break;
			chunks.push(chunk);
			size += chunk.bytes.length;
			if (maxBytes !== undefined && size >= maxBytes) break;
		}
		const last = maxBytes === undefined ? undefined : chunks.at(-1);
		return {
			chunks,
			nextSeq: last ? last.seq + 1 : this.#nextSeq,
			missedBytes: this.#evictions.bytesAfter(afterSeq),
		};
	}

	/** Bytes the stream has brought so far, kept or not. */
	streamBytes(stream: OutputStream): number {
		return this.#streamBytes.get(stream) ?? 0;
	}

	/** The beginning of a stream and as much of its end as is retained. */
	view(stream: OutputStream): StreamView {
		const totalBytes = this.streamBytes(stream);
		const head = this.#heads.get(stream)?.bytes ?? new Uint8Array(0);
		const tail = this.#chunks.slice(this.#dropped).filter(chunk => chunk.stream === stream);
		const bytes = new Uint8Array(tail.reduce((sum, chunk) => sum + chunk.bytes.length, head.length));
		bytes.set(head);
		let offset = head.length;
		for (const chunk of tail) {
			bytes.set(chunk.bytes, offset);
			offset += chunk.bytes.length;
		}
		return {bytes, headBytes: head.length, omittedBytes: totalBytes - bytes.length, totalBytes};
	}

	/** Gives up retained chunks, oldest first, until so many bytes are free or only undelivered ones are left. */
	evict(bytes: number): number {
		const before = this.#retainedBytes;
		while (this.#canEvict() && before - this.#retainedBytes < bytes) this.#evictOldest();
		this.#compact();
		return before - this.#retainedBytes;
	}

	/** Leaves the retention budget; output that is still to come counts for nothing. */
	dispose(): void {
		this.#budget?.forget(this);
		this.#budget = undefined;
	}

	/** Calls `wake` after every event until the returned function is called. */
	watch(wake: () => void): () => void {
		this.#watchers.add(wake);
		return () => this.#watchers.delete(wake);
	}

	/**
	 * Starts delivery at the present end, with back-pressure: `driverBacklogBytes` grows until the cursor is moved. There
	 * is one driver at a time; an earlier one is closed. `wake` is called after every event.
	 */
	drive(wake: () => void): DriverCursor {
		this.#driver?.close();
		const moved = (): void => this.#driverMoved();
		const unwatch = this.watch(wake);
		const driver = new DriverCursor(this, this.#positionAfter(this.#nextSeq - 1), moved, () => {
			unwatch();
			if (this.#driver !== driver) return;
			this.#driver = undefined;
			moved();
		});
		this.#driver = driver;
		moved();
		return driver;
	}

	/** Starts delivery after an event, without back-pressure. `wake` is called after every event that follows. */
	observe(afterSeq: number, wake: () => void): ObserverCursor {
		return new ObserverCursor(this, this.#positionAfter(Math.min(afterSeq, this.#nextSeq - 1)), this.watch(wake));
	}

	/** Output that the driver has yet to deliver; 0 without one. */
	get driverBacklogBytes(): number {
		return this.#driver?.pendingBytes ?? 0;
	}

	get firstOrdinal(): number {
		return this.#firstOrdinal;
	}

	chunkAt(ordinal: number): Chunk | undefined {
		return this.#chunks[ordinal - this.#firstOrdinal + this.#dropped];
	}

	missedBytes(afterSeq: number, throughSeq: number): number {
		return this.#evictions.bytesAfter(afterSeq) - this.#evictions.bytesAfter(throughSeq);
	}

	/** Evicts what retention has no room for: after more was taken in, and after the driver moved. */
	#trim(): void {
		const {bytes, chunks} = this.#retention;
		const before = this.#retainedBytes;
		while (this.#canEvict() && (this.#retainedBytes > bytes || this.#chunks.length - this.#dropped > chunks)) {
			this.#evictOldest();
		}
		this.#compact();
		this.#budget?.trimmed(before - this.#retainedBytes);
	}

	#driverMoved(): void {
		this.#trim();
		this.#owner.driverMoved?.();
	}

	#positionAfter(seq: number): CursorPosition {
		const index = this.#indexAfter(seq);
		const missedBytes = this.#evictions.bytesAfter(seq);
		let pendingBytes = missedBytes;
		for (let next = index; next < this.#chunks.length; next++) pendingBytes += this.#chunks[next]!.bytes.length;
		// An ordinal below the first one stands for evicted chunks.
		const ordinal = this.#firstOrdinal + (missedBytes > 0 ? -1 : index - this.#dropped);
		return {seq, ordinal, pendingBytes};
	}

	/** Everything but what the driver has yet to deliver. */
	#canEvict(): boolean {
		const needed = this.#driver?.neededFrom ?? Number.POSITIVE_INFINITY;
		return this.#dropped < this.#chunks.length && this.#firstOrdinal < needed;
	}

	#evictOldest(): void {
		const chunk = this.#chunks[this.#dropped]!;
		this.#chunks[this.#dropped++] = EVICTED;
		this.#firstOrdinal++;
		this.#retainedBytes -= chunk.bytes.length;
		this.#evictions.add(chunk.seq, chunk.bytes.length);
		this.#headOf(chunk.stream).add(chunk.bytes);
		this.#owner.release?.(chunk.bytes);
	}

	#headOf(stream: OutputStream): StreamHead {
		const known = this.#heads.get(stream);
		if (known) return known;
		const head = new StreamHead();
		this.#heads.set(stream, head);
		return head;
	}

	#compact(): void {
		if (this.#dropped >= COMPACT_AFTER && this.#dropped * 2 >= this.#chunks.length) {
			this.#chunks = this.#chunks.slice(this.#dropped);
			this.#dropped = 0;
		}
	}

	/** Index of the first retained chunk with a higher number; chunks are sorted by number. */
	#indexAfter(seq: number): number {
		let low = this.#dropped;
		let high = this.#chunks.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.#chunks[middle]!.seq <= seq) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	#changed(): void {
		for (const wake of this.#watchers) wake();
	}
}

const EVICTED: Chunk = {seq: 0, stream: 'stdout', bytes: new Uint8Array(0)};
