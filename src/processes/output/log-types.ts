import type {EndReason, OutputStream} from '../../protocol/methods/process-methods.js';
import type {OutputSpill} from './output-spill.js';
import type {RetentionBudget} from './retention-budget.js';

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

export interface OutputPage {
	readonly chunks: readonly Chunk[];
	readonly nextSeq: number;
	/** Bytes newer than the cursor that are no longer retained. */
	readonly missedBytes: number;
	/** There is more on disk than one page holds: the events from `nextSeq` on are not told by it. */
	readonly isCut?: boolean;
}

/** Numbers and end of a log whose events are on disk, or with another program. */
export interface RestoredLog {
	/** Sequence number of the next event. */
	readonly nextSeq: number;
	/** Bytes of output so far, and of each stream; asked for when they are needed. */
	readonly totalBytes: number;
	readonly streamBytes: () => ReadonlyMap<OutputStream, number>;
	readonly exit?: (Exit & {readonly seq: number}) | undefined;
	readonly closedSeq?: number | undefined;
}

/** Callbacks into the producer of the output. */
export interface LogOwner {
	/** Returns the memory of an evicted chunk; see `read` for the obligation of readers. */
	release?(bytes: Uint8Array): void;
	/** The driver's cursor was moved, opened or closed, or output acknowledged: the child may have to be paused or resumed. */
	driverMoved?(): void;
}

export interface OutputLogOptions extends LogOwner {
	/** Keeps all output on disk: chunks are evicted from memory as soon as they are there. */
	readonly spill?: OutputSpill | undefined;
	/** State of a log that goes on, or has ended, elsewhere. */
	readonly restored?: RestoredLog | undefined;
}
