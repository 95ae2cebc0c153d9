import type {LookupAddress} from 'node:dns';
import {isIP, type Socket} from 'node:net';
import {LongarmError} from '../../shared/errors.js';
import {isOfThisMachine, isServedHere} from '../../transports/node/own-addresses.js';
import {type AskedLookup, dnsResolver} from '../dns-resolver.js';
import {isPublicAddress} from '../public-address.js';
import type {HttpScope} from './http-scopes.js';
import {hostOf, portOf} from './proxies.js';

/** Names that stand for this machine wherever they are resolved. */
const OWN_NAME = /^(?:.+\.)?localhost\.?$/i;
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'];

/** Decides which hosts the requests of a client may reach. Names are judged by the addresses really connected to. */
export class HttpPolicy {
	readonly #scope: HttpScope;

	constructor(scope: HttpScope) {
		this.#scope = scope;
	}

	/** Throws if nothing may be requested at all. */
	requireAllowed(): void {
		if (this.#scope === 'none') throw httpRefusedError('this server makes no HTTP requests');
	}

	/**
	 * Throws unless the URL of a hop may be requested, as far as that can be told without resolving a name. Behind a proxy
	 * this is everything that is judged: the proxy resolves the name and decides what it connects to.
	 */
	requireTarget(url: URL): void {
		const host = hostOf(url);
		const addresses = isIP(host) === 0 ? (OWN_NAME.test(host) ? LOOPBACK_ADDRESSES : []) : [host];
		for (const address of addresses) {
			this.#requireAddress(address, host);
			requireForeign(address, Number(portOf(url)), host);
		}
	}

	/** The `lookup` of connections: allowed addresses only, and no second look at the name, so DNS rebinding has no effect. */
	readonly lookup: AskedLookup = (host, options, found, asker) => {
		const judge = (error: Error | null, addresses: LookupAddress[]): void => {
			if (error) return found(error, '', 0);
			const allowed = addresses.filter(({address}) => this.#allows(address));
			const [first] = allowed;
			if (!first) return found(addresses.length > 0 ? notPublicError(host) : noAddressError(host), '', 0);
			if (options.all) found(null, allowed);
			else found(null, first.address, first.family);
		};
		dnsResolver.lookupAll(host, {...options, all: true}, judge, asker);
	};

	/** Throws for a connection that leads to a listener of this process. */
	requirePeer({remoteAddress = '', remotePort = 0}: Socket): void {
		requireForeign(remoteAddress, remotePort, remoteAddress);
	}

	#requireAddress(address: string, host: string): void {
		if (!this.#allows(address)) throw notPublicError(host);
	}

	/** A public address of this machine leads to services that others may be kept from. */
	#allows(address: string): boolean {
		return this.#scope === 'any' || (isPublicAddress(address) && !isOfThisMachine(address));
	}
}

/** A client that comes back through its own server could not be told from a process of this machine. */
function requireForeign(address: string, port: number, host: string): void {
	if (isServedHere(address, port)) throw httpRefusedError('this server makes no HTTP requests to itself', host);
}

function notPublicError(host: string): LongarmError {
	return httpRefusedError('this server makes HTTP requests to public addresses only', host);
}

function noAddressError(host: string): Error {
	return new Error(`${host} has no address`);
}

function httpRefusedError(message: string, host?: string): LongarmError {
	return new LongarmError('HTTP_REFUSED', {message, context: {...(host !== undefined && {host})}});
}
