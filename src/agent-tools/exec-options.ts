import type {ExecEnvironment} from './exec-environment.js';
import type {ExecEventListener} from './exec-events.js';
import type {VariableOptions} from './exec-variables.js';
import type {OutputPolicy} from './output-policy.js';

export interface UnifiedExecOptions extends VariableOptions {
	/** The machine commands run on. */
	readonly environment?: ExecEnvironment | undefined;
	/** Several of them instead, the primary one first; a call may choose. */
	readonly environments?: readonly ExecEnvironment[] | undefined;
	readonly maxSessions?: number | undefined;
	/** How many of the most recently used sessions are never evicted. */
	readonly protectedSessions?: number | undefined;
	/** Longest wait of a poll; never below five seconds. */
	readonly maxPollMs?: number | undefined;
	/** How much output the model is given at most: 10,000 tokens unless said otherwise. */
	readonly modelPolicy?: OutputPolicy | undefined;
	/** How long output is waited for once the exit is known. */
	readonly closeGraceMs?: number | undefined;
	/** Whether commands run in login shells, and may choose; true by default. */
	readonly loginShells?: boolean | undefined;
	/**
	 * Does as the peers do where longarm does better on purpose: a wait for an early exit that no clock counts, exit code
	 * 1 for a signal on a terminal, and a `process/terminate` behind every command, also one that has ended.
	 */
	readonly strictCompat?: boolean | undefined;
	readonly onEvent?: ExecEventListener | undefined;
	/** Proposes session numbers; random ones by default. */
	readonly nextSessionId?: (() => number) | undefined;
}

/** Where a call comes from. */
export interface CallContext {
	readonly callId?: string | undefined;
	readonly turnId?: string | undefined;
	/** Ends the waiting, not the command: the answer is what there is by then. */
	readonly signal?: AbortSignal | undefined;
}
