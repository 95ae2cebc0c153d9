// A file of its own: the one place that knows which files and sockets are the server's own.
import {resolve} from 'node:path';
import {parseListenAddress} from '../../../transports/node/registry.js';
import type {Settings} from './serve-settings.js';

const SECRET_FILES = ['ws-token-file', 'ws-tokens-file', 'ws-shared-secret-file', 'tls-key'] as const;

/** Files of tokens and keys and sockets of the server: no sandbox shows them, since they lead out of it. */
export function listHiddenPaths(settings: Settings): string[] {
	const address = parseListenAddress(settings.listen);
	const socket = address?.kind === 'unix' ? [address.path] : [];
	return [...SECRET_FILES.flatMap(name => settings[name] ?? []), ...socket].map(path => resolve(path));
}
