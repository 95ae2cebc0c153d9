import type {EnvironmentPolicy} from '../protocol/methods/process-methods.js';

/** Keeps programs from colours, pagers and other things for people. Laid over whatever the policy leaves. */
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
	/** In place of `DEFAULT_ENV`. */
	readonly env?: Readonly<Record<string, string>> | undefined;
	/** What of the executor's own variables a command sees: everything, unless said otherwise. */
	readonly envPolicy?: Partial<EnvironmentPolicy> | undefined;
	/** Withholds variables with KEY, SECRET or TOKEN in their name; off by default, as in the peers. */
	readonly excludeSecrets?: boolean | undefined;
	readonly threadId?: string | undefined;
	readonly sessionId?: string | undefined;
}

export function policyOf({envPolicy, excludeSecrets}: VariableOptions): EnvironmentPolicy {
	const ignoreDefaultExcludes = !excludeSecrets;
	return {inherit: 'all', ignoreDefaultExcludes, exclude: [], set: {}, includeOnly: [], ...envPolicy};
}

export function overlayOf(options: VariableOptions, callId: string): Record<string, string> {
	const {env = DEFAULT_ENV, threadId, sessionId} = options;
	return {
		...env,
		...(threadId !== undefined && {CODEX_THREAD_ID: threadId}),
		...(sessionId !== undefined && {CODEX_SESSION_ID: sessionId}),
		CODEX_TOOL_CALL_ID: callId,
	};
}
