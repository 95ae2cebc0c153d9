import type {SandboxOption} from '../client/run/sandbox-policy.js';
import type {OptionTable} from '../shared/call-options.js';
import type {ExecEnvironment} from './exec-environment.js';
import type {ExecEventListener} from './exec-events.js';
import type {VariableOptions} from './exec-variables.js';
import type {OutputPolicy} from './output-policy.js';

/** Environments, limits and listeners of a `UnifiedExec`. */
export interface UnifiedExecOptions extends VariableOptions {
	/** Environment in which commands run. */
	readonly environment?: ExecEnvironment | undefined;
	/** Several environments instead, the default first; a call may choose. */
	readonly environments?: readonly ExecEnvironment[] | undefined;
	readonly maxSessions?: number | undefined;
	/** Number of most recently used sessions that are never evicted. */
	readonly protectedSessions?: number | undefined;
	/** Longest wait of a poll; never below five seconds. */
	readonly maxPollMs?: number | undefined;
	/** Limit for the output in an answer; 10,000 tokens by default. */
	readonly modelPolicy?: OutputPolicy | undefined;
	/** Grace period for output after an exit; 50 ms by default. */
	readonly closeGraceMs?: number | undefined;
	/** Allows login shells, and makes them the default of `login`; true by default. */
	readonly loginShells?: boolean | undefined;
	/**
	 * Reproduces upstream's behaviour where longarm deviates on purpose: a wait for an early exit before the clock starts,
	 * exit code 1 for a signal on a terminal, and a `process/terminate` after every command, also one that has ended.
	 */
	readonly strictCompat?: boolean | undefined;
	/**
	 * Sandbox of every command; where it cannot be enforced nothing is started. The workspace of `workspace-write` is the
	 * working directory of the environment, wherever a call asks to run.
	 */
	readonly sandbox?: SandboxOption | undefined;
	readonly onEvent?: ExecEventListener | undefined;
	/** Generates session ids; random ones by default. */
	readonly nextSessionId?: (() => number) | undefined;
}

/** Every option of the tools, and its form. */
export const EXEC_OPTIONS: OptionTable<UnifiedExecOptions> = {
	environment: 'object',
	environments: 'list',
	maxSessions: 'limit',
	protectedSessions: 'limit',
	maxPollMs: 'duration',
	modelPolicy: 'object',
	closeGraceMs: 'duration',
	loginShells: 'flag',
	strictCompat: 'flag',
	onEvent: 'function',
	nextSessionId: 'function',
	sandbox: 'any',
	env: 'object',
	envPolicy: 'object',
	excludeSecrets: 'flag',
	threadId: 'text',
	sessionId: 'text',
};

/** Origin of a tool call. */
export interface CallContext {
	readonly callId?: string | undefined;
	readonly turnId?: string | undefined;
	/** Ends the wait, not the command: the answer holds the output so far. */
	readonly signal?: AbortSignal | undefined;
}
