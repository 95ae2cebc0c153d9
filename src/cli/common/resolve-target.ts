import {TOKEN_VARIABLE} from '../../environments/config/config-variables.js';
import {loadEnvironments} from '../../environments/config/load-environments.js';
import type {RemoteTarget} from '../../environments/remote/remote-target.js';
import {invalidEnvironment} from '../../environments/remote/remote-url.js';
import {LOCAL} from './environments.js';

const COMMAND_PREFIX = 'cmd:';

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
	if (/^wss?:\/\//.test(given)) return {kind: 'websocket', url: given, token: process.env[TOKEN_VARIABLE]};
	if (!given.startsWith(COMMAND_PREFIX)) return undefined;
	const command = given.slice(COMMAND_PREFIX.length).trim();
	if (command === '')
		throw invalidEnvironment(
			'cmd: needs a command that speaks the protocol, such as `cmd:ssh host longarm serve --listen stdio`',
		);
	return {kind: 'command', program: '/bin/sh', args: ['-c', command], ...(onStderr && {onStderr})};
}

async function configured(name: string, {onStderr}: OpenOptions): Promise<RemoteTarget> {
	const {remotes} = await loadEnvironments();
	const target = remotes.get(name);
	if (!target) {
		const known = [LOCAL, ...remotes.keys()];
		throw invalidEnvironment(`unknown environment \`${name}\`; known are ${known.join(', ')}`, {name, known});
	}
	return target.kind === 'command' && onStderr ? {...target, onStderr} : target;
}
