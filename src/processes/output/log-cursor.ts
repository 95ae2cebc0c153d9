import type {Chunk, Exit} from './output-log.js';

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
	chunkAt(ordinal: number): Chunk | undefined;
	/** Evicted bytes with a sequence number above `afterSeq` and at most `throughSeq`. */
	missedBytes(afterSeq: number, throughSeq: number): number;
}

export interface CursorPosition {
	/** Sequence number of the last event that needs no delivery. */
	readonly seq: number;
	/** Position of the first chunk to deliver. */
	readonly ordinal: number;
	/** Bytes of output that are still to be delivered. */
	readonly pendingBytes: number;
}

/** Delivers each event once, in order. The bytes of a chunk are valid until the next append to the log. */
export abstract class LogCursor {
	protected readonly log: CursorSource;
	readonly #close: () => void;
	protected ordinal: number;
	protected deliveredSeq: number;
	protected deliveredBytes: number;

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

	get isAtEnd(): boolean {
		return this.deliveredSeq === this.log.nextSeq - 1;
	}

	/** Ends delivery: the log neither wakes this cursor nor retains output for it any more. */
	close(): void {
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
}

/** Cursor with back-pressure: output it has not delivered is never evicted, and pauses the child. */
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

	next(): LogEvent | undefined {
		return this.advance();
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
	next(): LogEvent | LogGap | undefined {
		return this.#skipGap() ?? this.advance();
	}

	#skipGap(): LogGap | undefined {
		const afterSeq = this.deliveredSeq;
		if (this.isAtEnd || this.ordinal >= this.log.firstOrdinal || this.#isEnd(afterSeq + 1)) return undefined;
		const {exit, closedSeq, nextSeq, firstOrdinal} = this.log;
		const firstRetained = this.log.chunkAt(firstOrdinal)?.seq ?? nextSeq;
		// An exit among the evicted chunks is still delivered: the gap ends before it, and another may follow.
		const ends = [exit?.seq, closedSeq].filter(seq => seq !== undefined && seq > afterSeq) as number[];
		const throughSeq = Math.min(firstRetained, ...ends) - 1;
		if (throughSeq === firstRetained - 1) this.ordinal = firstOrdinal;
		// The last evicted chunk came right before the exit.
		if (throughSeq === afterSeq) return undefined;
		this.deliveredSeq = throughSeq;
		const missedBytes = this.log.missedBytes(afterSeq, throughSeq);
		this.deliveredBytes += missedBytes;
		return {kind: 'gap', afterSeq, throughSeq, missedBytes};
	}

	/** True for the sequence number of the exit or the close, which are never evicted. */
	#isEnd(seq: number): boolean {
		return this.log.exit?.seq === seq || this.log.closedSeq === seq;
	}
}
