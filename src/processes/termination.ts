import type {ProcessInfo} from './tree/process-tree.js';

/** SIGKILL at once, or SIGTERM first and SIGKILL after the timeout. */
export type TerminationMode = {readonly kind: 'force'} | {readonly kind: 'graceful'; readonly timeoutMs: number};

export interface Termination {
	/** The process was running or starting. */
	readonly running: boolean;
	/** Descendants that outlived it; a promise only when some had left the process group. */
	readonly survivors: readonly ProcessInfo[] | Promise<readonly ProcessInfo[]>;
}

export const NOT_RUNNING: Termination = {running: false, survivors: []};
export const ENDING: Termination = {running: true, survivors: []};
