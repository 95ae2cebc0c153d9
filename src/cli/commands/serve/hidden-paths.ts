// A file of its own: the one place that knows which files and sockets are the server's own.
import {resolve} from 'node:path';
import {parseListenAddress} from '../../../transports/node/registry.js';
import type {Settings} from './serve-settings.js';

const OWN_FILES = ['ws-token-file', 'ws-tokens-file', 'ws-shared-secret-file', 'tls-key', 'audit-log'] as const;

/** Files of tokens and keys, sockets of the server, which lead out of a sandbox, and its audit log: no sandbox shows them. */
export function listHiddenPaths(settings: Settings): string[] {
	const address = parseListenAddress(settings.listen);
	const socket = address?.kind === 'unix' ? [address.path] : [];
	return [...OWN_FILES.flatMap(name => settings[name] ?? []), ...socket].map(path => resolve(path));
}
