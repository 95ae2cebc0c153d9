import {TOKEN_VARIABLE} from '../../environments/config/config-variables.js';
import {defaultProvider} from '../../environments/config/default-provider.js';
import {LOCAL, readSnapshot} from '../../environments/environment-provider.js';
import type {RemoteTarget} from '../../environments/remote/remote-target.js';
import {invalidEnvironment} from '../../environments/remote/remote-url.js';
import {findScheme, isTransportTarget, schemeOf} from '../../transports/node/registry.js';
import type {OpenOptions} from './environments.js';

/** The machine an address or a name stands for; not for `local`. */
export async function resolveTarget(given: string, options: OpenOptions = {}): Promise<RemoteTarget> {
	return parseTarget(given, options) ?? (await findTarget(given, options));
}

/** Undefined for a name. */
export function parseTarget(given: string, {onStderr}: OpenOptions = {}): RemoteTarget | undefined {
	return findScheme(given)?.parseTarget(given, {token: process.env[TOKEN_VARIABLE], onStderr});
}

async function findTarget(name: string, options: OpenOptions): Promise<RemoteTarget> {
	const {onStderr, provider = defaultProvider()} = options;
	const {remotes} = await readSnapshot(provider);
	const target = remotes.get(name);
	if (!target) {
		const known = [LOCAL, ...remotes.keys()];
		throw invalidEnvironment(`unknown environment \`${name}\`; known are ${known.join(', ')}`, {name, known});
	}
	return onStderr ? withStderr(target, onStderr) : target;
}

/** Passes on the standard error of a server that is started for the connection. */
function withStderr(target: RemoteTarget, onStderr: (text: string) => void): RemoteTarget {
	if (!isTransportTarget(target) || !schemeOf(target).startsServer) return target;
	const withListener = {...target, onStderr};
	return withListener;
}
