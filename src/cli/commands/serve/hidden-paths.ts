// A file of its own: the one place that knows which files and sockets are the server's own.
import {resolve} from 'node:path';
import {parseListenAddress} from '../../../transports/node/registry.js';
import {selfSignedPath} from './self-signed-path.js';
import type {Settings} from './serve-settings.js';

const OWN_FILES = ['ws-token-file', 'ws-tokens-file', 'ws-shared-secret-file', 'tls-key', 'audit-log'] as const;

/** Files of tokens and keys, sockets of the server, which lead out of a sandbox, and its audit log: no sandbox shows them. */
export function listHiddenPaths(settings: Settings): string[] {
	const address = parseListenAddress(settings.listen);
	const socket = address?.kind === 'unix' ? [address.path] : [];
	const made = settings['tls-self-signed'] ? [selfSignedPath(process.env)] : [];
	return [...OWN_FILES.flatMap(name => settings[name] ?? []), ...socket, ...made].map(path => resolve(path));
}
