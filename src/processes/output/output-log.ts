import type {EndReason, OutputStream} from '../../protocol/methods/process-methods.js';
import {ChunkQueue} from './chunk-queue.js';
import {EvictionRecord, StreamHead} from './eviction-record.js';
import {
	AcknowledgedCursor,
	type CursorPosition,
	type CursorSource,
	DriverCursor,
	ObserverCursor,
} from './log-cursor.js';
import {type LogState, NEW_LOG} from './log-state.js';
import type {Chunk, Exit, LogOwner, OutputLogOptions, OutputPage, RestoredLog, Retention} from './log-types.js';
import type {OutputSpill} from './output-spill.js';
import {readSpilled} from './read-spilled.js';
import type {RetentionBudget} from './retention-budget.js';
import {joinStream, type StreamView} from './stream-view.js';
import {writeUnwritten} from './write-unwritten.js';

export type {Chunk, EndReason, Exit, OutputPage, OutputStream, RestoredLog, Retention, StreamView};

/**
 * Log of one process; output, exit and close are numbered from 1 without gaps. It is delivery queue and retention buffer
 * at once: any number of cursors walk it, `read` returns pages of it, and the oldest chunks are evicted when retention
 * is full, but never one that the driver's cursor has yet to deliver or that a reader has yet to acknowledge. With a spill
 * nobody is waited for: cursors read from disk what is no longer in memory.
 */
export class OutputLog implements CursorSource {
	readonly #retention: Retention;
	readonly #owner: LogOwner;
	/** Undefined once the log is disposed. */
	#budget: RetentionBudget | undefined;
	readonly #chunks: ChunkQueue;
	#retainedBytes = 0;
	#totalBytes: number;
	#nextSeq: number;
	readonly #evictions: EvictionRecord;
	readonly #heads: Map<OutputStream, StreamHead>;
	readonly #streamBytes: Map<OutputStream, number>;
	/** Bytes of each stream before this log began, until they were added. */
	#countEarlier: (() => ReadonlyMap<OutputStream, number>) | undefined;
	#exit: (Exit & {readonly seq: number}) | undefined;
	#closedSeq: number | undefined;
	#driver: DriverCursor | undefined;
	/** Stands for the driver that an earlier program had, until that has read what it missed. */
	#absentDriver: AcknowledgedCursor | undefined;
	#acknowledged: AcknowledgedCursor | undefined;
	/** Called after every event, in the order of registration. */
	readonly #watchers = new Set<() => void>();
	readonly spill: OutputSpill | undefined;

	/** Goes on from the state of a log of another program; takes ownership of its chunks. */
	constructor(retention: Retention, {spill, restored, ...owner}: OutputLogOptions = {}, state: LogState = NEW_LOG) {
		this.#retention = retention;
		this.#budget = retention.budget;
		this.#owner = owner;
		this.spill = spill;
		// A restored log has a first chunk that is in no memory: cursors look for it on disk.
		this.#chunks = new ChunkQueue(state.chunks, restored && restored.totalBytes > 0 ? 1 : state.firstOrdinal);
		this.#totalBytes = state.totalBytes;
		this.#nextSeq = state.nextSeq;
		this.#evictions = new EvictionRecord(state.evictions);
		this.#heads = new Map(state.heads.map(([stream, bytes]) => [stream, new StreamHead(bytes)]));
		this.#streamBytes = new Map(state.streamBytes);
		this.#exit = state.exit;
		this.#closedSeq = state.closedSeq;
		if (state !== NEW_LOG) this.#resume(state);
		if (restored) this.#restore(restored);
	}

	#restore({nextSeq, totalBytes, streamBytes, exit, closedSeq}: RestoredLog): void {
		this.#nextSeq = nextSeq;
		this.#totalBytes = totalBytes;
		this.#countEarlier = streamBytes;
		this.#exit = exit;
		this.#closedSeq = closedSeq;
	}

	#resume({acknowledgedSeq, deliveredSeq}: LogState): void {
		if (acknowledgedSeq !== undefined) this.#acknowledged = this.#openReader(acknowledgedSeq);
		// Output on disk is there for any driver.
		if (deliveredSeq !== undefined && !this.spill) this.#absentDriver = this.#openReader(deliveredSeq);
		for (const {bytes} of this.#retained) this.#retainedBytes += bytes.length;
		if (this.spill) writeUnwritten(this.spill, this.#retained, this.#exit, this.#closedSeq);
		this.#budget?.recordAdded(this, this.#retainedBytes);
		this.#budget?.recordTrimmed(0);
	}

	/** Everything that a log of another program needs to go on; its bytes are valid until the next append. */
	handOver(): LogState {
		return {
			chunks: this.#retained,
			firstOrdinal: this.#chunks.firstOrdinal,
			totalBytes: this.#totalBytes,
			nextSeq: this.#nextSeq,
			evictions: this.#evictions.handOver(),
			heads: [...this.#heads].map(([stream, {bytes}]) => [stream, bytes]),
			streamBytes: [...this.#streamBytes],
			exit: this.#exit,
			closedSeq: this.#closedSeq,
			acknowledgedSeq: this.#acknowledged?.seq,
			deliveredSeq: this.#absentDriver?.seq ?? this.#driver?.seq,
		};
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
		const chunk = {seq: this.#nextSeq++, stream, bytes};
		this.#chunks.push(chunk);
		this.#retainedBytes += bytes.length;
		this.#totalBytes += bytes.length;
		this.#streamBytes.set(stream, (this.#streamBytes.get(stream) ?? 0) + bytes.length);
		this.#budget?.recordAdded(this, bytes.length);
		this.spill?.append(chunk);
		this.#trim();
		this.#notifyWatchers();
	}

	recordExit(exit: Exit): void {
		if (this.#exit) throw new Error('exited twice');
		this.#exit = {seq: this.#nextSeq++, ...exit};
		this.spill?.recordExit(this.#exit);
		this.#notifyWatchers();
	}

	recordClose(): void {
		if (!this.#exit || this.#closedSeq !== undefined) throw new Error('closed before exited, or twice');
		this.#closedSeq = this.#nextSeq++;
		this.spill?.recordClose(this.#closedSeq);
		this.#notifyWatchers();
	}

	/** Closes the log of a process whose end nobody has seen. */
	recordLoss(): void {
		this.#closedSeq ??= this.#nextSeq++;
		this.#notifyWatchers();
	}

	/**
	 * Retained chunks after `afterSeq`, oldest first. `maxBytes` stops before a chunk that would exceed it, but a page
	 * holds at least one chunk if there is one. The bytes are valid until the next append: use them at once.
	 */
	read(afterSeq: number, maxBytes?: number): OutputPage {
		if (this.spill && afterSeq < this.#firstRetainedSeq - 1) {
			const page = readSpilled(this.spill, afterSeq, maxBytes);
			const isFull = maxBytes !== undefined && page.chunks.length > 0;
			return page.isCut || isFull ? page : this.#appendRetained(page, afterSeq);
		}
		const chunks = this.#chunks.page(afterSeq, maxBytes);
		const last = maxBytes === undefined ? undefined : chunks.at(-1);
		return {
			chunks,
			nextSeq: last ? last.seq + 1 : this.#nextSeq,
			missedBytes: this.#evictions.bytesAfter(afterSeq),
		};
	}

	/** Adds what is in memory behind a page that was read from disk to its end. */
	#appendRetained({chunks}: OutputPage, afterSeq: number): OutputPage {
		const rest = this.#chunks.from(this.#chunks.findAfter(chunks.at(-1)?.seq ?? afterSeq));
		const missedBytes = this.missedBytes(afterSeq, this.#nextSeq);
		return {chunks: [...chunks, ...rest], nextSeq: this.#nextSeq, missedBytes};
	}

	/** Number of the oldest event that a cursor can deliver. */
	get firstSeq(): number {
		return Math.min(this.spill?.firstSeq ?? Number.POSITIVE_INFINITY, this.#firstRetainedSeq);
	}

	get #retained(): Chunk[] {
		return this.#chunks.from(this.#chunks.firstOrdinal);
	}

	/** Number of the oldest chunk in memory. */
	get #firstRetainedSeq(): number {
		return this.#chunks.first?.seq ?? this.#nextSeq;
	}

	/** Total bytes of the stream so far, retained or not. */
	streamBytes(stream: OutputStream): number {
		if (this.#countEarlier) {
			for (const [name, bytes] of this.#countEarlier()) {
				this.#streamBytes.set(name, (this.#streamBytes.get(name) ?? 0) + bytes);
			}
			this.#countEarlier = undefined;
		}
		return this.#streamBytes.get(stream) ?? 0;
	}

	/** The head of a stream and as much of its tail as is retained. */
	view(stream: OutputStream): StreamView {
		const tail = this.#retained.filter(chunk => chunk.stream === stream);
		return joinStream(this.#heads.get(stream)?.bytes, tail, this.streamBytes(stream));
	}

	/** Evicts chunks, oldest first, until `bytes` are freed or only undelivered chunks are left. Returns the freed bytes. */
	evict(bytes: number): number {
		const before = this.#retainedBytes;
		while (this.#canEvict() && before - this.#retainedBytes < bytes) this.#evictOldest();
		this.#chunks.compact();
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
	 * Starts delivery at the present end or after an event, with back-pressure: `driverBacklogBytes` grows until the cursor
	 * is moved. There is one driver at a time; an earlier one is closed. `wake` is called after every event.
	 */
	drive(wake: () => void, afterSeq = this.#nextSeq - 1): DriverCursor {
		this.#driver?.close();
		const onMoved = (): void => this.#handleDriverMoved();
		const unwatch = this.watch(wake);
		const position = this.#findPosition(Math.min(afterSeq, this.#nextSeq - 1));
		const driver = new DriverCursor(this, position, onMoved, () => {
			unwatch();
			if (this.#driver !== driver) return;
			this.#driver = undefined;
			onMoved();
		});
		this.#driver = driver;
		onMoved();
		return driver;
	}

	/** The driver that an earlier program had is back and has read everything from one number up to another. */
	catchUp(afterSeq: number, nextSeq: number): void {
		if (!this.#absentDriver) return;
		this.#absentDriver.moveTo(afterSeq);
		if (nextSeq >= this.#nextSeq) this.dismissAbsentDriver();
		else this.#handleDriverMoved();
	}

	/** That driver is not waited for any longer: its output is retained like any other. */
	dismissAbsentDriver(): void {
		if (!this.#absentDriver) return;
		this.#absentDriver = undefined;
		this.#handleDriverMoved();
	}

	/**
	 * From now on output is evicted only after `acknowledge`, with a driver or without one: a reader whose connection breaks
	 * finds everything it had not taken. No-op with a spill, which keeps everything anyway.
	 */
	retainUntilAcknowledged(): void {
		if (this.spill) return;
		this.#acknowledged ??= this.#openReader(this.#nextSeq - 1);
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

	#openReader(seq: number): AcknowledgedCursor {
		return new AcknowledgedCursor(this, this.#findPosition(seq), () => {});
	}

	/** Back-pressure: output the driver has yet to deliver; 0 without a driver. */
	get driverBacklogBytes(): number {
		return Math.max(this.#driver?.pendingBytes ?? 0, this.#absentDriver?.pendingBytes ?? 0);
	}

	get firstOrdinal(): number {
		return this.#chunks.firstOrdinal;
	}

	get endOrdinal(): number {
		return this.#chunks.endOrdinal;
	}

	chunkAt(ordinal: number): Chunk | undefined {
		return this.#chunks.at(ordinal);
	}

	missedBytes(afterSeq: number, throughSeq: number): number {
		return this.spill ? this.spill.droppedBytes(afterSeq, throughSeq) : this.evictedBytes(afterSeq, throughSeq);
	}

	/** Of a restored log nothing is known but the total, unless the disk tells. */
	evictedBytes(afterSeq: number, throughSeq: number): number {
		const evicted = afterSeq === 0 ? this.#totalBytes - this.#retainedBytes : this.#evictions.bytesAfter(afterSeq);
		const dropped = this.spill?.droppedBytes(afterSeq, throughSeq) ?? 0;
		return Math.max(evicted - this.#evictions.bytesAfter(throughSeq), dropped);
	}

	/** Evicts chunks beyond the retention bounds; called after every append and after the driver moved. */
	#trim(): void {
		const {bytes, chunks} = this.#retention;
		const before = this.#retainedBytes;
		while (this.#canEvict() && (this.#retainedBytes > bytes || this.#chunks.length > chunks)) {
			this.#evictOldest();
		}
		this.#chunks.compact();
		this.#budget?.recordTrimmed(before - this.#retainedBytes);
	}

	#handleDriverMoved(): void {
		this.#trim();
		this.#owner.driverMoved?.();
	}

	/** Position of a cursor that has delivered everything up to `seq`. */
	#findPosition(seq: number): CursorPosition {
		const first = this.#chunks.findAfter(seq);
		const missedBytes = this.#evictions.bytesAfter(seq);
		const pendingBytes = this.#chunks.from(first).reduce((sum, {bytes}) => sum + bytes.length, missedBytes);
		const isBehind = missedBytes > 0 || (this.spill !== undefined && seq < this.#firstRetainedSeq - 1);
		// An ordinal below the first one stands for evicted chunks.
		const ordinal = isBehind ? this.#chunks.firstOrdinal - 1 : first;
		return {seq, ordinal, pendingBytes};
	}

	/** False when the oldest retained chunk has yet to be delivered by the driver, or acknowledged. */
	#canEvict(): boolean {
		const {first, firstOrdinal: oldest} = this.#chunks;
		if (!first) return false;
		if (this.spill) return first.seq <= this.spill.writtenSeq;
		if (isNeededBy(this.#driver, oldest) || isNeededBy(this.#absentDriver, oldest)) return false;
		return !isNeededBy(this.#acknowledged, oldest);
	}

	#evictOldest(): void {
		const chunk = this.#chunks.shift();
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

	#notifyWatchers(): void {
		for (const wake of this.#watchers) wake();
	}
}

function isNeededBy(cursor: DriverCursor | AcknowledgedCursor | undefined, ordinal: number): boolean {
	return cursor !== undefined && cursor.firstNeededOrdinal <= ordinal;
}
