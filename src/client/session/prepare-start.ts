import {toPathUri} from '../paths.js';
import {TAG_VARIABLE} from '../process/end-tagged.js';
import {hasStdin} from '../process/input-closed.js';
import type {StartOptions, StartParams} from '../process/process-handle.js';
import type {RemoteProcessOptions} from '../process/remote-process.js';

/** A start as the server gets it, and what the handle of the process knows. */
export interface PreparedStart {
	readonly request: StartParams;
	readonly options: Pick<RemoteProcessOptions, 'acknowledges' | 'name' | 'hasStdin' | 'tag' | 'limitMs'>;
}

/** The server enforces what it can; the rest is left to the handle. */
export function prepareStart(
	params: StartParams,
	{backpressure, timeout, signal}: StartOptions,
	capabilities: Readonly<Record<string, boolean>>,
): PreparedStart {
	const acknowledged = backpressure === true && capabilities['processAcknowledge'] === true;
	const limitMs =
		timeout === undefined || timeout === Infinity ? undefined : Math.min(Math.ceil(timeout), Number.MAX_SAFE_INTEGER);
	const isServerLimited = limitMs !== undefined && capabilities['processTimeLimit'] === true;
	const isTagged = (limitMs !== undefined || signal !== undefined) && capabilities['processTerminateMode'] !== true;
	const {processId, env} = params;
	return {
		request: {
			...params,
			cwd: toPathUri(params.cwd).href,
			...(acknowledged && {acknowledged}),
			...(isServerLimited && {timeoutMs: limitMs}),
			...(isTagged && {env: {...env, [TAG_VARIABLE]: processId}}),
		},
		options: {
			acknowledges: acknowledged,
			name: params.name ?? undefined,
			hasStdin: hasStdin(params),
			tag: isTagged ? processId : undefined,
			limitMs: isServerLimited ? undefined : limitMs,
		},
	};
}
