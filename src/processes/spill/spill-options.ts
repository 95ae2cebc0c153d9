import type {OutputBlock} from '../output/output-spill.js';
import type {WriteBytes} from './append-queue.js';
import type {PunchHole} from './file-calls.js';

/** At the bound the writer waits for good, or the oldest output is dropped. */
export type FullSpillPolicy = 'pause' | 'dropOldest';

/** Output on disk that waits, or has waited. */
export interface BlockedSpill {
	readonly directory: string;
	readonly blockedOn: OutputBlock | undefined;
	/** The reason in words. */
	readonly blockedBy: string | undefined;
}

export interface SpillOptions {
	/** Bytes of output and of its index on disk; unbounded by default. */
	readonly maxBytes?: number;
	readonly onFull?: FullSpillPolicy;
	/** Called when output has begun to wait, and when it no longer does. */
	readonly onBlockedChange?: (spill: BlockedSpill) => void;
	/** Milliseconds since 1970; time that has passed since the start, unless the clock of the machine is wanted. */
	readonly clock?: () => number;
	readonly write?: WriteBytes;
	readonly punchHole?: PunchHole;
}
