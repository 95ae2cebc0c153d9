import type {ProcessInfo} from './tree/process-tree.js';

/**
 * SIGKILL, or SIGTERM first and SIGKILL after the timeout. With `withinMs` all is done in this turn of the event loop, which
 * that may block for so long, as for a program that is about to exit.
 */
export type TerminationMode =
	| {readonly kind: 'force'; readonly withinMs?: number}
	| {readonly kind: 'graceful'; readonly timeoutMs: number};

export interface Termination {
	/** The process was running or starting. */
	readonly running: boolean;
	/** Descendants that outlived it; a promise only when some had left the process group. */
	readonly survivors: readonly ProcessInfo[] | Promise<readonly ProcessInfo[]>;
}

export const NOT_RUNNING: Termination = {running: false, survivors: []};
export const ENDING: Termination = {running: true, survivors: []};
