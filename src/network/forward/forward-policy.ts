import {isIP, type LookupFunction} from 'node:net';
import {LongarmError} from '../../shared/errors.js';
import {isLoopback} from '../../transports/node/loopback.js';
import {dnsResolver} from '../dns-resolver.js';
import type {ForwardScope} from './forward-scopes.js';

/** Throws unless the host may be tried; a name is judged by what it stands for, in `allowedLookup`. */
export function requireForwardable(scope: ForwardScope, host: string): void {
	if (scope === 'none') throw refused('this server forwards no connections', host);
	if (scope === 'loopback' && isIP(host) !== 0 && !isLoopback(host)) throw notLoopback(host);
}

/**
 * Resolves names for `connect` and hands it only what may be connected to. The addresses judged are those connected
 * to: nothing resolves the name a second time.
 */
export function allowedLookup(scope: ForwardScope): LookupFunction {
	return (host, options, found) => {
		dnsResolver.all(host, {...options, all: true}, (error, addresses) => {
			if (error) return found(error, '', 0);
			const allowed = scope === 'any' ? addresses : addresses.filter(({address}) => isLoopback(address));
			const [first] = allowed;
			if (!first) return found(notLoopback(host), '', 0);
			if (options.all) found(null, allowed);
			else found(null, first.address, first.family);
		});
	};
}

function notLoopback(host: string): LongarmError {
	return refused('this server forwards connections to its own loopback addresses only', host);
}

function refused(message: string, host: string): LongarmError {
	return new LongarmError('FORWARD_REFUSED', {message, context: {host}});
}
