import {isIP} from 'node:net';
import {isLoopback} from '../loopback.js';
import {RegistryConfigError} from './registry-errors.js';

/** Throws for a registry that a token would travel to in clear, with upstream's words. */
export function requireSecureRegistry({protocol, hostname}: URL): void {
	const host = hostname.replace(/^\[(.*)\]$/, '$1');
	if (protocol === 'https:' || host === 'localhost' || (isIP(host) !== 0 && isLoopback(host))) return;
	throw new RegistryConfigError('remote transport requires https for non-loopback endpoints');
}
