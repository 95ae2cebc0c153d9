import type {EndReason, OutputStream} from '../../protocol/methods/process-methods.js';
import {EvictionRecord, StreamHead} from './eviction-record.js';
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

export type LogEvent =
	| ({readonly kind: 'output'} & Chunk)
	| ({readonly kind: 'exited'; readonly seq: number} & Exit)
	| {readonly kind: 'closed'; readonly seq: number};

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

/**
 * What a process said, numbered from 1 without gaps over output, exit and close. It is the queue of the connection
 * and the memory of the readers at once: a cursor walks it for delivery, `read` looks into it, the oldest chunks go
 * when retention is full, but never one that the cursor has yet to deliver.
 */
export class OutputLog {
	readonly #retention: Retention;
	readonly #release: (bytes: Uint8Array) => void;
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
	#cursor: LogCursor | undefined;
	readonly #watchers = new Set<() => void>();

	/** `release` gets the memory of evicted chunks back; see `read` for what that asks of readers. */
	constructor(retention: Retention, release: (bytes: Uint8Array) => void = () => {}) {
		this.#retention = retention;
		this.#budget = retention.budget;
		this.#release = release;
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
		this.trim();
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

	/** Nobody will read it any more, whatever is still to come. */
	dispose(): void {
		this.#budget?.forget(this);
		this.#budget = undefined;
	}

	/** Calls `wake` after every event until the returned function is called. */
	watch(wake: () => void): () => void {
		this.#watchers.add(wake);
		return () => this.#watchers.delete(wake);
	}

	/** Starts delivery at the present end. There is one cursor at a time; an earlier one is let go. */
	attach(): LogCursor {
		this.#cursor = new LogCursor(this, this.#firstOrdinal + this.#chunks.length - this.#dropped, this.#totalBytes);
		this.trim();
		return this.#cursor;
	}

	detach(): void {
		this.#cursor = undefined;
		this.trim();
	}

	chunkAt(ordinal: number): Chunk | undefined {
		return this.#chunks[ordinal - this.#firstOrdinal + this.#dropped];
	}

	/** Evicts what retention has no room for. The log sees to it when it takes in more; a cursor that moved on asks for it. */
	trim(): void {
		const {bytes, chunks} = this.#retention;
		const before = this.#retainedBytes;
		while (this.#canEvict() && (this.#retainedBytes > bytes || this.#chunks.length - this.#dropped > chunks)) {
			this.#evictOldest();
		}
		this.#compact();
		this.#budget?.trimmed(before - this.#retainedBytes);
	}

	/** Everything but what the cursor has yet to deliver. */
	#canEvict(): boolean {
		const undelivered = this.#cursor?.ordinal ?? Number.POSITIVE_INFINITY;
		return this.#dropped < this.#chunks.length && this.#firstOrdinal < undelivered;
	}

	#evictOldest(): void {
		const chunk = this.#chunks[this.#dropped]!;
		this.#chunks[this.#dropped++] = EVICTED;
		this.#firstOrdinal++;
		this.#retainedBytes -= chunk.bytes.length;
		this.#evictions.add(chunk.seq, chunk.bytes.length);
		this.#headOf(chunk.stream).add(chunk.bytes);
		this.#release(chunk.bytes);
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

/** Hands out each event once, in order. The bytes of a chunk are valid until the log takes in more. */
export class LogCursor {
	readonly #log: OutputLog;
	#ordinal: number;
	#deliveredBytes: number;
	#deliveredSeq: number;

	constructor(log: OutputLog, ordinal: number, deliveredBytes: number) {
		this.#log = log;
		this.#ordinal = ordinal;
		this.#deliveredBytes = deliveredBytes;
		this.#deliveredSeq = log.nextSeq - 1;
	}

	/** Position of the next chunk to deliver, counted from the first chunk ever. */
	get ordinal(): number {
		return this.#ordinal;
	}

	/** Output that is still to be delivered. */
	get pendingBytes(): number {
		return this.#log.totalBytes - this.#deliveredBytes;
	}

	get atEnd(): boolean {
		return this.#deliveredSeq === this.#log.nextSeq - 1;
	}

	next(): LogEvent | undefined {
		if (this.atEnd) return undefined;
		const seq = ++this.#deliveredSeq;
		const {exit} = this.#log;
		if (exit?.seq === seq) return {kind: 'exited', ...exit};
		if (this.#log.closedSeq === seq) return {kind: 'closed', seq};
		const chunk = this.#log.chunkAt(this.#ordinal++)!;
		this.#deliveredBytes += chunk.bytes.length;
		return {kind: 'output', ...chunk};
	}
}
