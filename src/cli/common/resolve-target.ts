import {TOKEN_VARIABLE} from '../../environments/config/config-variables.js';
import {loadEnvironments} from '../../environments/config/load-environments.js';
import type {RemoteTarget} from '../../environments/remote/remote-target.js';
import {invalidEnvironment} from '../../environments/remote/remote-url.js';
import {findScheme, schemeOf} from '../../transports/node/registry.js';
import {LOCAL} from './environments.js';

export interface OpenOptions {
	/** Gets what a `cmd:` command writes to its standard error. */
	readonly onStderr?: (text: string) => void;
}

/** Where something else than this machine is. */
export async function resolveTarget(given: string, options: OpenOptions = {}): Promise<RemoteTarget> {
	return parseTarget(given, options) ?? (await configured(given, options));
}

/** Undefined for a name. */
export function parseTarget(given: string, {onStderr}: OpenOptions = {}): RemoteTarget | undefined {
	return findScheme(given)?.parseTarget(given, {token: process.env[TOKEN_VARIABLE], onStderr});
}

async function configured(name: string, {onStderr}: OpenOptions): Promise<RemoteTarget> {
	const {remotes} = await loadEnvironments();
	const target = remotes.get(name);
	if (!target) {
		const known = [LOCAL, ...remotes.keys()];
		throw invalidEnvironment(`unknown environment \`${name}\`; known are ${known.join(', ')}`, {name, known});
	}
	return onStderr ? withStderr(target, onStderr) : target;
}

/** Passes on the standard error of a server that is started for the connection. */
function withStderr(target: RemoteTarget, onStderr: (text: string) => void): RemoteTarget {
	if (target.kind === 'transport' || target.kind === 'provisioned' || !schemeOf(target).startsServer) return target;
	const withListener = {...target, onStderr};
	return withListener;
}
