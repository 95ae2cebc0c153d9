import type {EnvironmentPolicy} from '../protocol/methods/process-methods.js';

/** Variables that turn off colours, pagers and other interactive features. Added to those the policy inherits. */
export const DEFAULT_ENV: Readonly<Record<string, string>> = {
	NO_COLOR: '1',
	TERM: 'dumb',
	LANG: 'C.UTF-8',
	LC_CTYPE: 'C.UTF-8',
	LC_ALL: 'C.UTF-8',
	COLORTERM: '',
	PAGER: 'cat',
	GIT_PAGER: 'cat',
	GH_PAGER: 'cat',
	CODEX_CI: '1',
};

export interface VariableOptions {
	/** Replaces `DEFAULT_ENV`. */
	readonly env?: Readonly<Record<string, string>> | undefined;
	/** Which of the executor's own variables a command inherits; all by default. */
	readonly envPolicy?: Partial<EnvironmentPolicy> | undefined;
	/** Withholds variables with KEY, SECRET or TOKEN in their name; off by default, as upstream. */
	readonly excludeSecrets?: boolean | undefined;
	readonly threadId?: string | undefined;
	readonly sessionId?: string | undefined;
}

export function createEnvironmentPolicy({envPolicy, excludeSecrets}: VariableOptions): EnvironmentPolicy {
	const ignoreDefaultExcludes = !excludeSecrets;
	return {inherit: 'all', ignoreDefaultExcludes, exclude: [], set: {}, includeOnly: [], ...envPolicy};
}

export function createOverlay(options: VariableOptions, callId: string): Record<string, string> {
	const {env = DEFAULT_ENV, threadId, sessionId} = options;
	return {
		...env,
		...(threadId !== undefined && {CODEX_THREAD_ID: threadId}),
		...(sessionId !== undefined && {CODEX_SESSION_ID: sessionId}),
		CODEX_TOOL_CALL_ID: callId,
	};
}
