import type {LookupAddress} from 'node:dns';
import {isIP, type LookupFunction} from 'node:net';
import {LongarmError} from '../../shared/errors.js';
import {isLoopback} from '../../transports/node/loopback.js';
import {type Asker, dnsResolver} from '../dns-resolver.js';
import type {ForwardScope} from './forward-scopes.js';

/** Throws unless the address is allowed; names are checked after resolution, in `createAllowedLookup`. */
export function requireForwardable(scope: ForwardScope, host: string): void {
	if (scope === 'none') throw forwardRefusedError('this server forwards no connections', host);
	if (scope === 'loopback' && isIP(host) !== 0 && !isLoopback(host)) throw notLoopbackError(host);
}

/**
 * Lookup function for `net.connect` that returns allowed addresses only. The addresses checked are those connected to:
 * the name is not resolved a second time, so DNS rebinding has no effect.
 */
export function createAllowedLookup(scope: ForwardScope, asker: Asker): LookupFunction {
	return (host, options, found) => {
		const judge = (error: Error | null, addresses: LookupAddress[]): void => {
			if (error) return found(error, '', 0);
			const allowed = scope === 'any' ? addresses : addresses.filter(({address}) => isLoopback(address));
			const [first] = allowed;
			if (!first) return found(notLoopbackError(host), '', 0);
			if (options.all) found(null, allowed);
			else found(null, first.address, first.family);
		};
		dnsResolver.lookupAll(host, {...options, all: true}, judge, asker);
	};
}

/** A client that comes back through its own server could not be told from a process of this machine. */
export function ownListenerError(host: string): LongarmError {
	return forwardRefusedError('this server forwards no connections to itself', host);
}

function notLoopbackError(host: string): LongarmError {
	return forwardRefusedError('this server forwards connections to its own loopback addresses only', host);
}

function forwardRefusedError(message: string, host: string): LongarmError {
	return new LongarmError('FORWARD_REFUSED', {message, context: {host}});
}
