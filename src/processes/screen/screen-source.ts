import type {TerminalSize} from '../backends/backend.js';

/** An event of a process as its screen sees it, in the order in which they happened. */
export type ScreenEvent =
	/** The bytes are valid until the next call of the reader, and only until control returns to the event loop. */
	| {readonly kind: 'output'; readonly seq: number; readonly bytes: Uint8Array; readonly ms?: number | undefined}
	/** A numbered event that draws nothing, such as the exit. */
	| {readonly kind: 'other'; readonly seq: number; readonly ms?: number | undefined}
	/** Has no number of its own: it happened after the event `seq` and before the one that follows. */
	| {readonly kind: 'resize'; readonly seq: number; readonly size: TerminalSize; readonly ms?: number | undefined}
	/** Output up to `seq` that is not kept any more. */
	| {readonly kind: 'gap'; readonly seq: number; readonly missedBytes: number};

export interface ScreenReader {
	/** The next event; undefined at the present end. */
	next(): ScreenEvent | undefined;
	close(): void;
}

/** Events of one process on a terminal, from memory or from disk. */
export interface ScreenSource {
	/** Stands for the process: the model of its terminal lives at most as long as this object. */
	readonly key: object;
	/** Size of the terminal before the first event. */
	readonly initialSize: TerminalSize;
	/** Number of the last event so far. */
	readonly lastSeq: number;
	/** Whether events have a time; they never go backwards. */
	readonly hasTimes: boolean;
	/** A reader of the events after `afterSeq`, beginning with resizes that happened right after it. */
	open(afterSeq: number): ScreenReader;
}
