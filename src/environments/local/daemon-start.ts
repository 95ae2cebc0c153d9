import type {StartParams} from '../../client/process/process-handle.js';
import {buildChildEnvironment} from '../../processes/environment-variables.js';

/** The same start by the daemon: variables are those of this program, and not the daemon's own. */
export function toDaemonStart(
	params: StartParams,
	variables: Readonly<Record<string, string | undefined>>,
): StartParams {
	const {env, envPolicy, ...rest} = params;
	return {...rest, env: Object.fromEntries(buildChildEnvironment(env, envPolicy ?? undefined, variables))};
}
