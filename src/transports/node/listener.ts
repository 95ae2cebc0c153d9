import {createServer, type Server} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import {requireKnownOptions} from '../../shared/call-options.js';
import {LongarmError} from '../../shared/errors.js';
import {formatPeerAddress, formatWebSocketUrl} from './address-text.js';
import {type AttachedListener, type AttachOptions, attachListener} from './attached-listener.js';
import {createHostCheck} from './host-header.js';
import {LISTEN_OPTIONS} from './listen-option-names.js';
import type {ListenerOptions} from './listener-options.js';
import {isLoopback} from './loopback.js';
import {registerListening} from './own-addresses.js';
import {createPeerCheck} from './peer-check.js';
import {PendingConnections} from './pending-connections.js';
import {descriptorOf} from './socket-descriptor.js';
import {createTlsServer, replaceIdentity, type TlsIdentity, type TlsServer} from './tls-server.js';
import {CLOSE_TIMEOUT_MS, type GatePlace, UpgradeGate} from './upgrade-gate.js';

/** Connections the kernel holds for us while we are busy. */
const BACKLOG = 1024;
/** How long a request may take to arrive, and how often it is looked. */
const REQUEST_LIMITS = {headersTimeout: 10_000, requestTimeout: 15_000, connectionsCheckingInterval: 5_000} as const;
/** Connections before their upgrade request. */
export const MAX_PENDING_UPGRADES = 1024;

/** Options of `listen`. */
export interface ListenOptions<Pass = undefined> extends ListenerOptions<Pass> {
	/** IP literal. */
	readonly host: string;
	readonly port: number;
}

/** Where a listener is, and what follows from that. */
export interface ListenPlace extends GatePlace {
	/** Calls back once connections can come. */
	readonly start: (server: Server, listening: () => void) => void;
	readonly urlOf: (server: Server) => string;
	/** Called once connections can come; the returned function is called when they no longer can. */
	readonly listening?: (server: Server) => () => void;
}

/** An open listener. */
export interface Listener {
	/** `ws://127.0.0.1:PORT` with the real port, `wss://…`, or `unix:PATH`. */
	readonly url: string;
	/** Descriptor of its socket, where the runtime tells it. */
	readonly fd: number | undefined;
	/** Another certificate for connections from now on; throws `TLS_INVALID` and keeps the old one when it is broken. */
	renew(tls: TlsIdentity): void;
	/** Takes no more connections and ends those that are open. */
	close(): Promise<void>;
}

/**
 * Serves the protocol on `/`, and `/readyz` for health checks. A request that names an origin comes from a web page and
 * is refused unless that origin is allowed. On loopback, and without authentication, only processes of this user are
 * served where the system tells whose they are.
 */
export function listen<Pass = undefined>(options: ListenOptions<Pass>): Promise<Listener>;
/** The same on an HTTP server of the caller's own, at a path of it. */
export function listen<Pass = undefined>(options: AttachOptions<Pass>): Promise<AttachedListener>;
export async function listen<Pass>(
	options: ListenOptions<Pass> | AttachOptions<Pass>,
): Promise<Listener | AttachedListener> {
	if ('server' in options) return attachListener(options);
	requireKnownOptions(options, Object.keys(LISTEN_OPTIONS), 'listen()');
	const {authorize, dangerouslyAllowNetwork, host, port, tls, refuseLocalPeer, listeningFd} = options;
	const where = listeningFd === undefined ? {host, port} : {fd: listeningFd};
	if (!dangerouslyAllowNetwork && !authorize && !isLoopback(host)) throw networkRefusedError(host);
	const users = new WeakMap<Socket, number>();
	const isForThisUser = !authorize && isLoopback(host);
	return openListener(options, {
		start: (server, listening) => server.listen({...where, backlog: BACKLOG}, listening),
		userOf: socket => users.get(socket),
		urlOf: server => formatWebSocketUrl(server.address() as AddressInfo, tls !== undefined),
		listening: server => registerListening(server.address() as AddressInfo),
		describePeer: formatPeerAddress,
		refusePeer:
			process.platform === 'linux'
				? createPeerCheck({isForThisUser: () => isForThisUser, refuseLocalPeer}, users)
				: undefined,
		// With TLS a page under another name has no certificate for it, and is never sent.
		isKnownHost: tls ? undefined : createHostCheck(host, options.allowHosts ?? []),
	});
}

/** Serves at any place; `listen` is for addresses of the network. */
export async function openListener<Pass>(options: ListenerOptions<Pass>, place: ListenPlace): Promise<Listener> {
	const gate = new UpgradeGate(options, place);
	const front = createHttpServer(options);
	const {server} = front;
	server.on('request', gate.answer);
	const pending = new PendingConnections(MAX_PENDING_UPGRADES);
	server.on('connection', socket => pending.add(socket));
	server.on('upgrade', (request, socket, head) => {
		pending.take(socket as Socket);
		gate.upgrade(request, socket, head);
	});
	await bind(server, place);
	const closed = place.listening?.(server);
	return {
		url: place.urlOf(server),
		get fd() {
			return descriptorOf(server);
		},
		renew: identity => replaceIdentity(server, identity),
		close: () => {
			closed?.();
			return closeServer(front, gate);
		},
	};
}

function createHttpServer<Pass>({tls, handshakeMs, maxConnections}: ListenerOptions<Pass>): TlsServer {
	const settings = {noDelay: true, ...REQUEST_LIMITS};
	const front = tls
		? createTlsServer(tls, {...settings, handshakeMs})
		: {server: createServer(settings), giveUpHandshakes: () => {}};
	// Connections that are being refused count as well.
	if (maxConnections !== undefined) front.server.maxConnections = maxConnections + 2 * MAX_PENDING_UPGRADES;
	return front;
}

function bind(server: Server, {start}: ListenPlace): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once('error', reject);
		start(server, () => {
			server.off('error', reject);
			// From here on it is always a single connection that could not be accepted, for want of memory, say.
			server.on('error', () => {});
			resolve();
		});
	});
}

async function closeServer<Pass>({server, giveUpHandshakes}: TlsServer, gate: UpgradeGate<Pass>): Promise<void> {
	const closed = new Promise<void>(resolve => server.close(() => resolve()));
	void gate.closeAll();
	server.closeIdleConnections();
	const destroyTimer = setTimeout(() => {
		gate.terminateAll();
		server.closeAllConnections();
		giveUpHandshakes();
	}, CLOSE_TIMEOUT_MS);
	await closed;
	clearTimeout(destroyTimer);
}

function networkRefusedError(host: string): LongarmError {
	return new LongarmError('LISTEN_REFUSED', {
		message: `refusing to listen on ${host}: without authentication anybody who reaches it can run programs here`,
		context: {host},
	});
}
