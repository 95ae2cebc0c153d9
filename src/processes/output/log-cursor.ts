import {LongarmError} from '../../shared/errors.js';
import type {Chunk, Exit} from './log-types.js';
import type {OutputSpill, SpillReader} from './output-spill.js';

export type LogEvent =
	| ({readonly kind: 'output'} & Chunk)
	| ({readonly kind: 'exited'; readonly seq: number} & Exit)
	| {readonly kind: 'closed'; readonly seq: number};

/** Output that was evicted before an observer got to it. */
export interface LogGap {
	readonly kind: 'gap';
	readonly afterSeq: number;
	readonly throughSeq: number;
	readonly missedBytes: number;
}

/** The part of a log that its cursors walk. */
export interface CursorSource {
	readonly nextSeq: number;
	readonly totalBytes: number;
	/** Position of the oldest retained chunk, counted from the first chunk ever. */
	readonly firstOrdinal: number;
	/** Position of the next chunk that will be appended. */
	readonly endOrdinal: number;
	readonly exit: (Exit & {readonly seq: number}) | undefined;
	readonly closedSeq: number | undefined;
	/** Output on disk, where evicted chunks are read from. */
	readonly spill: OutputSpill | undefined;
	chunkAt(ordinal: number): Chunk | undefined;
	/** Lost bytes with a sequence number above `afterSeq` and at most `throughSeq`: evicted, and not on disk. */
	missedBytes(afterSeq: number, throughSeq: number): number;
	/** Evicted bytes of the same range, for a reader that gets none of them from disk. */
	evictedBytes(afterSeq: number, throughSeq: number): number;
}

export interface CursorPosition {
	/** Sequence number of the last event that needs no delivery. */
	readonly seq: number;
	/** Position of the first chunk to deliver. */
	readonly ordinal: number;
	/** Bytes of output that are still to be delivered. */
	readonly pendingBytes: number;
}

/**
 * Delivers each event once, in order; a gap where output is lost. Chunks that are no longer in memory are read from disk
 * if they are there and can be read. The bytes of a chunk are valid until the next call, and until the next append to the
 * log.
 */
export class LogCursor {
	protected readonly log: CursorSource;
	readonly #close: () => void;
	protected ordinal: number;
	protected deliveredSeq: number;
	protected deliveredBytes: number;
	/** Open while evicted chunks are read from disk. */
	#reader: SpillReader | undefined;
	/** Read from disk, but not delivered yet. */
	#ahead: Chunk | undefined;

	constructor(log: CursorSource, {seq, ordinal, pendingBytes}: CursorPosition, close: () => void) {
		this.log = log;
		this.#close = close;
		this.ordinal = ordinal;
		this.deliveredSeq = seq;
		this.deliveredBytes = log.totalBytes - pendingBytes;
	}

	/** Output that is still to be delivered. */
	get pendingBytes(): number {
		return this.log.totalBytes - this.deliveredBytes;
	}

	/** Sequence number of the last event that was delivered. */
	get seq(): number {
		return this.deliveredSeq;
	}

	get isAtEnd(): boolean {
		return this.deliveredSeq === this.log.nextSeq - 1;
	}

	next(): LogEvent | LogGap | undefined {
		if (this.ordinal >= this.log.firstOrdinal || this.isAtEnd || this.#isEnd(this.deliveredSeq + 1)) {
			return this.advance();
		}
		return this.#nextFromDisk() ?? this.#skipGap() ?? this.advance();
	}

	/**
	 * Passes over the next event without reading it, if it is output on disk: for a caller that has it in another form.
	 * Returns its bytes; undefined for any other event.
	 */
	skipOnDisk(): number | undefined {
		const seq = this.deliveredSeq + 1;
		const {spill, firstOrdinal} = this.log;
		if (!spill || this.#ahead || this.ordinal >= firstOrdinal || seq >= this.#firstRetainedSeq()) return undefined;
		const bytes = this.#readDisk(spill, reader => reader.skip(seq));
		if (bytes === undefined) return undefined;
		this.deliveredSeq = seq;
		this.deliveredBytes += bytes;
		return bytes;
	}

	/** Ends delivery: the log neither wakes this cursor nor retains output for it any more. */
	close(): void {
		this.#leaveDisk();
		this.#close();
	}

	/** The next event; undefined at the end. An output chunk must still be retained. */
	protected advance(): LogEvent | undefined {
		if (this.isAtEnd) return undefined;
		const seq = ++this.deliveredSeq;
		const {exit} = this.log;
		if (exit?.seq === seq) return {kind: 'exited', ...exit};
		if (this.log.closedSeq === seq) return {kind: 'closed', seq};
		const chunk = this.log.chunkAt(this.ordinal++)!;
		this.deliveredBytes += chunk.bytes.length;
		return {kind: 'output', ...chunk};
	}

	/** Undefined when the next event is in memory, or nowhere. */
	#nextFromDisk(): LogEvent | LogGap | undefined {
		const {spill} = this.log;
		if (!spill) return undefined;
		this.#ahead ??= this.#readDisk(spill, reader => reader.next());
		const chunk = this.#ahead;
		if (!chunk || chunk.seq >= this.#firstRetainedSeq()) {
			this.#leaveDisk();
			return undefined;
		}
		if (chunk.seq > this.deliveredSeq + 1) {
			const throughSeq = this.#endBefore(chunk.seq);
			return this.#gapThrough(throughSeq, this.log.missedBytes(this.deliveredSeq, throughSeq));
		}
		this.#ahead = undefined;
		this.deliveredSeq = chunk.seq;
		this.deliveredBytes += chunk.bytes.length;
		return {kind: 'output', ...chunk};
	}

	/** Undefined where the files were removed, or the disk fails: that is a gap for this reader, and nothing for others. */
	#readDisk<T>(spill: OutputSpill, read: (reader: SpillReader) => T): T | undefined {
		try {
			this.#reader ??= spill.openReader(this.deliveredSeq);
			return read(this.#reader);
		} catch (error) {
			if (!(error instanceof LongarmError)) throw error;
			this.#leaveDisk();
			return undefined;
		}
	}

	#leaveDisk(): void {
		this.#reader?.close();
		this.#reader = undefined;
		this.#ahead = undefined;
	}

	/** Skips output that was evicted before it could be delivered, and is not on disk or cannot be read there. */
	#skipGap(): LogGap | undefined {
		const firstRetained = this.#firstRetainedSeq();
		const throughSeq = this.#endBefore(firstRetained);
		if (throughSeq === firstRetained - 1) this.ordinal = this.log.firstOrdinal;
		// The last evicted chunk came right before the exit.
		if (throughSeq === this.deliveredSeq) return undefined;
		return this.#gapThrough(throughSeq, this.log.evictedBytes(this.deliveredSeq, throughSeq));
	}

	#gapThrough(throughSeq: number, missedBytes: number): LogGap {
		const afterSeq = this.deliveredSeq;
		this.deliveredSeq = throughSeq;
		this.deliveredBytes += missedBytes;
		return {kind: 'gap', afterSeq, throughSeq, missedBytes};
	}

	#firstRetainedSeq(): number {
		return this.log.chunkAt(this.log.firstOrdinal)?.seq ?? this.log.nextSeq;
	}

	/** Last number of a gap before an event. An exit in between is still delivered: the gap ends before it, and another may follow. */
	#endBefore(seq: number): number {
		const {exit, closedSeq} = this.log;
		const ends = [exit?.seq, closedSeq].filter(end => end !== undefined && end > this.deliveredSeq) as number[];
		return Math.min(seq, ...ends) - 1;
	}

	/** True for the sequence number of the exit or the close, which are never evicted. */
	#isEnd(seq: number): boolean {
		return this.log.exit?.seq === seq || this.log.closedSeq === seq;
	}
}

/** Cursor with back-pressure: output it has not delivered is never evicted, and pauses the child, unless it is on disk. */
export class DriverCursor extends LogCursor {
	readonly #onMoved: () => void;

	constructor(log: CursorSource, position: CursorPosition, onMoved: () => void, close: () => void) {
		super(log, position, close);
		this.#onMoved = onMoved;
	}

	/** Position of the oldest chunk that must be retained. */
	get firstNeededOrdinal(): number {
		return this.ordinal;
	}

	/** Call after a batch of `next()`: delivered chunks may be evicted, and a paused child may resume. */
	commit(): void {
		this.#onMoved();
	}
}

/** Position of a reader that says what it has taken: nothing behind it is evicted, whether it was delivered or not. */
export class AcknowledgedCursor extends LogCursor {
	/** Position of the oldest chunk that must be retained. */
	get firstNeededOrdinal(): number {
		return this.ordinal;
	}

	get pendingChunks(): number {
		return this.log.endOrdinal - this.ordinal;
	}

	/** Everything up to this number has been taken. */
	moveTo(seq: number): void {
		while (this.deliveredSeq < seq && this.advance());
	}
}

/** Cursor without back-pressure. Output evicted before delivery is reported as a gap. */
export class ObserverCursor extends LogCursor {
	/** No-op: nothing waits for an observer. */
	commit(): void {}
}
