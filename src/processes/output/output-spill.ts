import type {StoredSpillRecord} from '../handoff/process-record.js';
import type {LoggedEntries, LogPlace} from '../logs/log-entries.js';
import type {Chunk, Exit} from './log-types.js';

/** Reads the output of one process from disk, forwards. */
export interface SpillReader {
	/**
	 * The next chunk of output, of any stream, or undefined when all that is on disk was read; it can go on when there is
	 * more. The bytes are valid until the next call. Chunks that were dropped are skipped: their numbers are missing.
	 */
	next(): Chunk | undefined;
	/**
	 * Passes over the next chunk without reading it, if it is that of this event. Returns its length; undefined if another
	 * one is next, or none.
	 */
	skip(seq: number): number | undefined;
	close(): void;
}

/** Reason why output waits: a disk that does not take it, or more room than the process was given on disk. */
export type OutputBlock = 'disk' | 'limit';

/** Output of one process on disk, as its log uses it. All calls are synchronous: the page cache answers at once. */
export interface OutputSpill {
	/** Number of the last event that is on disk; output up to it may be evicted from memory. */
	readonly writtenSeq: number;
	/** Number of the oldest output that is on disk; above `writtenSeq` while there is none. */
	readonly firstSeq: number;
	/** True while output cannot be written, because the disk or the spill is full: the child has to be paused. */
	readonly isBlocked: boolean;
	/** Why it is blocked; undefined if it is not. */
	readonly blockedOn?: OutputBlock | undefined;
	/** Takes a chunk, in the order of numbers; what cannot be written at once is copied and written later. */
	append(chunk: Chunk): void;
	recordExit(exit: Exit & {readonly seq: number}): void;
	recordClose(seq: number): void;
	/** Bytes of output with numbers above `afterSeq` and at most `throughSeq` that were dropped from disk. */
	droppedBytes(afterSeq: number, throughSeq: number): number;
	/** A reader of the output after an event. */
	openReader(afterSeq: number): SpillReader;
}

/** The spill as a process uses it: with entries beside the output, and an end. */
export interface KeptOutput extends OutputSpill {
	/** Path of its files. */
	readonly directory: string;
	/** Bytes on disk. */
	readonly bytes: number;
	/** Time of the last thing that was recorded, in milliseconds since 1970. */
	readonly lastMs: number;
	/** A reader of everything that was recorded, from a place on. */
	readFrom(place: LogPlace): LoggedEntries;
	/** Calls back when output can be written again. */
	onUnblocked(listener: () => void): void;
	/** The process was started. */
	recordStart(pid: number): void;
	recordResize(rows: number, columns: number): void;
	recordInput(bytes: Uint8Array): void;
	/** For a program that takes the place of this one, and opens the files again. */
	handOver(): StoredSpillRecord;
	/** Hands everything to the kernel and closes the files. */
	close(): void;
	/** Removes the files, for a process that could not be started or is to be forgotten. */
	discard(): Promise<void>;
}
