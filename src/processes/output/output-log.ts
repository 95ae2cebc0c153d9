import type {EndReason, OutputStream} from '../../protocol/methods/process-methods.js';
import {EvictionRecord, StreamHead} from './eviction-record.js';
import {
	AcknowledgedCursor,
	type CursorPosition,
	type CursorSource,
	DriverCursor,
	ObserverCursor,
} from './log-cursor.js';
import type {RetentionBudget} from './retention-budget.js';

export type {EndReason, OutputStream};

export interface Exit {
	readonly exitCode: number;
	readonly reason: EndReason;
	/** The failure looks like the sandbox's doing; absent without a sandbox. */
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
	/** Shared bound over many processes. */
	readonly budget?: RetentionBudget;
}

/** Head and tail of one stream, with the size of the gap between them. */
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

/** Evicted slots at the front of the chunk list before it is compacted. */
const MIN_COMPACTED_SLOTS = 1024;
const EVICTED: Chunk = {seq: 0, stream: 'stdout', bytes: new Uint8Array(0)};

/** Callbacks into the producer of the output. */
export interface LogOwner {
	/** Returns the memory of an evicted chunk; see `read` for the obligation of readers. */
	release?(bytes: Uint8Array): void;
	/** The driver's cursor was moved, opened or closed, or output acknowledged: the child may have to be paused or resumed. */
	driverMoved?(): void;
}

/**
 * Log of one process; output, exit and close are numbered from 1 without gaps. It is delivery queue and retention buffer
 * at once: any number of cursors walk it, `read` returns pages of it, and the oldest chunks are evicted when retention
 * is full, but never one that the driver's cursor has yet to deliver or that a reader has yet to acknowledge.
 */
export class OutputLog implements CursorSource {
	readonly #retention: Retention;
	readonly #owner: LogOwner;
	/** Undefined once the log is disposed. */
	#budget: RetentionBudget | undefined;
	#chunks: Chunk[] = [];
	/** Slots at the front of `#chunks` that were evicted but not yet compacted. */
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
	#acknowledged: AcknowledgedCursor | undefined;
	/** Called after every event, in the order of registration. */
	readonly #watchers = new Set<() => void>();

	constructor(retention: Retention, owner: LogOwner = {}) {
		this.#retention = retention;
		this.#budget = retention.budget;
		this.#owner = owner;
	}

	/** Sequence number of the next event. */
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

	/** Takes ownership of `bytes`. */
	append(stream: OutputStream, bytes: Uint8Array): void {
		if (this.#closedSeq !== undefined) throw new Error('output after closed');
		this.#chunks.push({seq: this.#nextSeq++, stream, bytes});
		this.#retainedBytes += bytes.length;
		this.#totalBytes += bytes.length;
		this.#streamBytes.set(stream, this.streamBytes(stream) + bytes.length);
		this.#budget?.recordAdded(this, bytes.length);
		this.#trim();
		this.#notifyWatchers();
	}

	recordExit(exit: Exit): void {
		if (this.#exit) throw new Error('exited twice');
		this.#exit = {seq: this.#nextSeq++, ...exit};
		this.#notifyWatchers();
	}

	recordClose(): void {
		if (!this.#exit || this.#closedSeq !== undefined) throw new Error('closed before exited, or twice');
		this.#closedSeq = this.#nextSeq++;
		this.#notifyWatchers();
	}

	/**
	 * Retained chunks after `afterSeq`, oldest first. `maxBytes` stops before a chunk that would exceed it, but a page
	 * holds at least one chunk if there is one. The bytes are valid until the next append: use them at once.
	 */
	read(afterSeq: number, maxBytes?: number): OutputPage {
		const chunks: Chunk[] = [];
		let size = 0;
		for (let index = this.#findIndex(afterSeq); index < this.#chunks.length; index++) {
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

	/** Total bytes of the stream so far, retained or not. */
	streamBytes(stream: OutputStream): number {
		return this.#streamBytes.get(stream) ?? 0;
	}

	/** The head of a stream and as much of its tail as is retained. */
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

	/** Evicts chunks, oldest first, until `bytes` are freed or only undelivered chunks are left. Returns the freed bytes. */
	evict(bytes: number): number {
		const before = this.#retainedBytes;
		while (this.#canEvict() && before - this.#retainedBytes < bytes) this.#evictOldest();
		this.#compact();
		return before - this.#retainedBytes;
	}

	/** Leaves the retention budget; later output is not counted. */
	dispose(): void {
		this.#budget?.remove(this);
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
		const onMoved = (): void => this.#handleDriverMoved();
		const unwatch = this.watch(wake);
		const driver = new DriverCursor(this, this.#findPosition(this.#nextSeq - 1), onMoved, () => {
			unwatch();
			if (this.#driver !== driver) return;
			this.#driver = undefined;
			onMoved();
		});
		this.#driver = driver;
		onMoved();
		return driver;
	}

	/**
	 * From now on output is evicted only after `acknowledge`, with a driver or without one: a reader whose connection breaks
	 * finds everything it had not taken.
	 */
	retainUntilAcknowledged(): void {
		this.#acknowledged ??= new AcknowledgedCursor(this, this.#findPosition(this.#nextSeq - 1), () => {});
	}

	/**
	 * The reader has taken everything up to this event; no-op unless output is retained for it. A number that no event has
	 * yet ends the retention: the reader wants no more.
	 */
	acknowledge(seq: number): void {
		if (!this.#acknowledged) return;
		if (seq < this.#nextSeq) this.#acknowledged.moveTo(seq);
		else this.#acknowledged = undefined;
		this.#handleDriverMoved();
	}

	/** Back-pressure: output retained until it is acknowledged; undefined unless some reader has to. */
	get unacknowledged(): {readonly bytes: number; readonly chunks: number} | undefined {
		const cursor = this.#acknowledged;
		return cursor && {bytes: cursor.pendingBytes, chunks: cursor.pendingChunks};
	}

	/** True while there are events that a reader has yet to acknowledge. */
	get isAwaitingAcknowledgement(): boolean {
		return this.#acknowledged?.isAtEnd === false;
	}

	/** Starts delivery after an event, without back-pressure. `wake` is called after every event that follows. */
	observe(afterSeq: number, wake: () => void): ObserverCursor {
		return new ObserverCursor(this, this.#findPosition(Math.min(afterSeq, this.#nextSeq - 1)), this.watch(wake));
	}

	/** Back-pressure: output the driver has yet to deliver; 0 without a driver. */
	get driverBacklogBytes(): number {
		return this.#driver?.pendingBytes ?? 0;
	}

	get firstOrdinal(): number {
		return this.#firstOrdinal;
	}

	get endOrdinal(): number {
		return this.#firstOrdinal + this.#chunks.length - this.#dropped;
	}

	chunkAt(ordinal: number): Chunk | undefined {
		return this.#chunks[ordinal - this.#firstOrdinal + this.#dropped];
	}

	missedBytes(afterSeq: number, throughSeq: number): number {
		return this.#evictions.bytesAfter(afterSeq) - this.#evictions.bytesAfter(throughSeq);
	}

	/** Evicts chunks beyond the retention bounds; called after every append and after the driver moved. */
	#trim(): void {
		const {bytes, chunks} = this.#retention;
		const before = this.#retainedBytes;
		while (this.#canEvict() && (this.#retainedBytes > bytes || this.#chunks.length - this.#dropped > chunks)) {
			this.#evictOldest();
		}
		this.#compact();
		this.#budget?.recordTrimmed(before - this.#retainedBytes);
	}

	#handleDriverMoved(): void {
		this.#trim();
		this.#owner.driverMoved?.();
	}

	/** Position of a cursor that has delivered everything up to `seq`. */
	#findPosition(seq: number): CursorPosition {
		const index = this.#findIndex(seq);
		const missedBytes = this.#evictions.bytesAfter(seq);
		let pendingBytes = missedBytes;
		for (let next = index; next < this.#chunks.length; next++) pendingBytes += this.#chunks[next]!.bytes.length;
		// An ordinal below the first one stands for evicted chunks.
		const ordinal = this.#firstOrdinal + (missedBytes > 0 ? -1 : index - this.#dropped);
		return {seq, ordinal, pendingBytes};
	}

	/** False when the oldest retained chunk has yet to be delivered by the driver, or acknowledged. */
	#canEvict(): boolean {
		const undelivered = this.#driver?.firstNeededOrdinal ?? Number.POSITIVE_INFINITY;
		const unacknowledged = this.#acknowledged?.firstNeededOrdinal ?? Number.POSITIVE_INFINITY;
		return this.#dropped < this.#chunks.length && this.#firstOrdinal < Math.min(undelivered, unacknowledged);
	}

	#evictOldest(): void {
		const chunk = this.#chunks[this.#dropped]!;
		this.#chunks[this.#dropped++] = EVICTED;
		this.#firstOrdinal++;
		this.#retainedBytes -= chunk.bytes.length;
		this.#evictions.add(chunk.seq, chunk.bytes.length);
		this.#getHead(chunk.stream).add(chunk.bytes);
		this.#owner.release?.(chunk.bytes);
	}

	#getHead(stream: OutputStream): StreamHead {
		const known = this.#heads.get(stream);
		if (known) return known;
		const head = new StreamHead();
		this.#heads.set(stream, head);
		return head;
	}

	#compact(): void {
		if (this.#dropped >= MIN_COMPACTED_SLOTS && this.#dropped * 2 >= this.#chunks.length) {
			this.#chunks = this.#chunks.slice(this.#dropped);
			this.#dropped = 0;
		}
	}

	/** Index of the first retained chunk after `seq`: binary search, chunks are sorted by sequence number. */
	#findIndex(seq: number): number {
		let low = this.#dropped;
		let high = this.#chunks.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if (this.#chunks[middle]!.seq <= seq) low = middle + 1;
			else high = middle;
		}
		return low;
	}

	#notifyWatchers(): void {
		for (const wake of this.#watchers) wake();
	}
}
