import {isIP, type Socket} from 'node:net';
import {type AskedLookup, dnsResolver} from '../dns-resolver.js';
import {openTunnel} from './connect-proxy.js';
import type {HttpPolicy} from './http-policy.js';
import type {Header, HttpVariables} from './http-request.js';
import {
	type ConnectionOwner,
	type ConnectionTarget,
	OriginConnection,
	type OutgoingMessage,
	type ResponseReceiver,
} from './origin-connection.js';
import {takeCredentials} from './prepare-request.js';
import {findProxy, hostOf, type ProxySettings, portOf, readProxySettings} from './proxies.js';

/** Time after which an idle connection is closed. */
const IDLE_TIMEOUT_MS = 30_000;
/** A connection is given up so long before the origin would close it, since a request needs time to get there. */
const IDLE_MARGIN_MS = 1000;
/** Idle keep-alive connections per origin. */
const MAX_IDLE_PER_ORIGIN = 16;
/** Idle keep-alive connections over all origins. */
const MAX_IDLE_TOTAL = 64;
/** Origins whose routes are known; more than can have idle connections. */
export const MAX_ROUTES = 128;

/** Way to one origin, direct or through a proxy. */
export interface Route {
	readonly target: ConnectionTarget;
	/** Headers for a proxy that reads the request; none for a tunnel or a direct connection. */
	readonly proxyHeaders: readonly Header[];
	toRequestTarget(url: URL): string;
	/** Open connections, idle ones included. A route that has some is not forgotten: they return to it. */
	connectionCount: number;
	/** The one that was used last is at the end. */
	readonly idle: IdleConnection[];
}

interface IdleConnection {
	readonly connection: OriginConnection;
	/** Of `performance.now()`. */
	readonly expiresAt: number;
}

/** Connections of one client, never shared with another. */
export class ConnectionPool {
	readonly #variables: HttpVariables;
	readonly #policy: HttpPolicy | undefined;
	readonly #routes = new Map<string, Route>();
	readonly #connections = new Set<OriginConnection>();
	#proxies: ProxySettings | undefined;
	#idleCount = 0;
	#expiry: NodeJS.Timeout | undefined;

	readonly #owner: unknown;

	/**
	 * Without a policy every host may be reached. Variables are read with the first request. `owner` is who names are looked
	 * up for, see `Asker`.
	 */
	constructor(variables: HttpVariables, policy?: HttpPolicy, owner?: unknown) {
		this.#variables = variables;
		this.#policy = policy;
		this.#owner = owner;
	}

	/** Throws if the policy does not allow the URL. */
	routeTo(url: URL): Route {
		this.#policy?.requireTarget(url);
		const {origin} = url;
		let route = this.#routes.get(origin);
		if (!route) {
			route = this.#createRoute(url);
			this.#forgetUnusedRoutes();
			this.#routes.set(origin, route);
		}
		return route;
	}

	/** Sends a request on an idle connection, or on a new one. */
	send(route: Route, message: OutgoingMessage, receiver: ResponseReceiver): OriginConnection {
		const idle = this.#takeIdle(route);
		if (idle) {
			idle.send(message, receiver);
			return idle;
		}
		const owner: ConnectionOwner = {
			onIdle: (connection, idleTimeoutMs) => this.#keep(route, connection, idleTimeoutMs),
			onClosed: connection => this.#forget(route, connection),
		};
		const connection = new OriginConnection(route.target, owner, message, receiver);
		this.#connections.add(connection);
		route.connectionCount++;
		return connection;
	}

	/** Closes every connection, idle or not. */
	close(): void {
		clearTimeout(this.#expiry);
		for (const connection of this.#connections) connection.destroy();
	}

	#createRoute(url: URL): Route {
		this.#proxies ??= readProxySettings(this.#variables);
		const proxy = findProxy(url, this.#proxies);
		if (!proxy) return createRoute(this.#toTarget(url), toOriginForm);
		const authorization = takeCredentials(proxy);
		const owner = this.#owner;
		if (url.protocol === 'https:') {
			const open = (signal: AbortSignal): Promise<Socket> => openTunnel(proxy, authorization, url, {owner, signal});
			return createRoute({...this.#toTarget(url), openTunnel: open}, toOriginForm);
		}
		// The executor's user has chosen the proxy: no policy judges its address.
		const target = {...this.#toTarget(proxy), lookup: this.#toLookup(dnsResolver.lookup), requireAllowed: undefined};
		return createRoute(target, toAbsoluteForm, authorization ? [['proxy-authorization', authorization]] : []);
	}

	#toTarget(url: URL): ConnectionTarget {
		const policy = this.#policy;
		const host = hostOf(url);
		// The server name for TLS is that of the URL, whatever the Host header says; IP addresses have none.
		const encryption = {servername: isIP(host) ? '' : host, session: undefined};
		return {
			host,
			port: Number(portOf(url)),
			encryption: url.protocol === 'https:' ? encryption : undefined,
			lookup: this.#toLookup(policy?.lookup ?? dnsResolver.lookup),
			requireAllowed: policy && (socket => policy.requirePeer(socket)),
			openTunnel: undefined,
		};
	}

	#toLookup(lookup: AskedLookup): AskedLookup {
		return (host, options, found, asker) => lookup(host, options, found, {...asker, owner: this.#owner});
	}

	#takeIdle({idle}: Route): OriginConnection | undefined {
		for (let last = idle.pop(); last; last = idle.pop()) {
			this.#idleCount--;
			if (last.expiresAt > performance.now()) return last.connection;
			last.connection.destroy();
		}
		return undefined;
	}

	#keep({idle}: Route, connection: OriginConnection, idleTimeoutMs = Number.POSITIVE_INFINITY): void {
		const keptMs = Math.min(IDLE_TIMEOUT_MS, idleTimeoutMs - IDLE_MARGIN_MS);
		if (keptMs <= 0 || idle.length >= MAX_IDLE_PER_ORIGIN || this.#idleCount >= MAX_IDLE_TOTAL) {
			connection.destroy();
			return;
		}
		idle.push({connection, expiresAt: performance.now() + keptMs});
		this.#idleCount++;
		this.#expiry ??= setTimeout(() => this.#closeExpired(), keptMs).unref();
	}

	/** One timer for all: a connection may be closed later than it expires, but is not used then. */
	#closeExpired(): void {
		const now = performance.now();
		for (const {idle} of this.#routes.values()) {
			// Not the list itself, which loses those that are closed.
			const expired = idle.filter(({expiresAt}) => expiresAt <= now);
			for (const {connection} of expired) connection.destroy();
		}
		this.#expiry = this.#idleCount > 0 ? setTimeout(() => this.#closeExpired(), IDLE_MARGIN_MS).unref() : undefined;
	}

	#forget(route: Route, connection: OriginConnection): void {
		const {idle} = route;
		// A connection that fails while it is made was not counted.
		if (this.#connections.delete(connection)) route.connectionCount--;
		const index = idle.findIndex(each => each.connection === connection);
		if (index === -1) return;
		idle.splice(index, 1);
		this.#idleCount--;
	}

	#forgetUnusedRoutes(): void {
		if (this.#routes.size < MAX_ROUTES) return;
		for (const [origin, route] of this.#routes) if (route.connectionCount === 0) this.#routes.delete(origin);
	}
}

function createRoute(
	target: ConnectionTarget,
	toRequestTarget: Route['toRequestTarget'],
	proxyHeaders: readonly Header[] = [],
): Route {
	return {target, toRequestTarget, proxyHeaders, connectionCount: 0, idle: []};
}

function toOriginForm({pathname, search}: URL): string {
	return pathname + search;
}

function toAbsoluteForm({href}: URL): string {
	return href;
}
