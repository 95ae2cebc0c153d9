import {createServer, type IncomingMessage, type Server, STATUS_CODES} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {WebSocketServer} from 'ws';
import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../transport.js';
import {createHostCheck} from './host-header.js';
import {answerHttpRequest, type HttpEndpoints, httpStatusOf, reasonOf, WEB_SOCKET_VERSION} from './http-endpoints.js';
import {isLoopback} from './loopback.js';
import {isOfThisMachine, registerListening} from './own-addresses.js';
import {PeerMonitor} from './peer-monitor.js';
import {createUserCheck, type LocalPeer, type PeerOwner, PeerOwners} from './peer-owner.js';
import {findTimesFault, type PeerTimes, SERVER_PEER_TIMES} from './peer-times.js';
import {createTlsServer, replaceIdentity, type TlsIdentity, type TlsServer} from './tls-server.js';
import {WebSocketTransport} from './web-socket.js';

/** Connections the kernel holds for us while we are busy. */
const BACKLOG = 1024;
/** Time for the closing handshake of open connections when the listener closes, or when they are refused. */
const CLOSE_TIMEOUT_MS = 250;
/** How long a request may take to arrive, and how often it is looked. */
const REQUEST_LIMITS = {headersTimeout: 10_000, requestTimeout: 15_000, connectionsCheckingInterval: 5_000} as const;
/** TCP connections allowed above `maxConnections`: before their upgrade request, or while a 503 is sent. */
const MAX_PENDING_UPGRADES = 1024;

/** Answers to clients that are refused for who they are: token, user, origin, name, quota. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 421, 503]);

/** Result of authentication: the pass of the client, or the reason of its refusal. */
export type AdmissionResult<Pass> =
	| {readonly kind: 'pass'; readonly pass: Pass}
	| {readonly kind: 'refused'; readonly text: string};

/** An upgrade request, as seen by `authorize`. */
export interface ConnectionRequest {
	/** The `Authorization` header; not to be logged. */
	readonly authorization: string | undefined;
	readonly peer: string;
}

/** A connection, or a page, that a client was not given. */
export interface RefusedRequest {
	/** Address without the port, or `unix:PATH`. */
	readonly from: string;
	readonly port: number | undefined;
	readonly path: string;
	readonly status: number;
	readonly reason: string;
}

export interface ListenerOptions<Pass = undefined> {
	/** Called for every client that was refused for who it is. */
	readonly onRefused?: (refused: RefusedRequest) => void;
	/** Without authentication anybody who reaches the port owns this machine; only loopback is listened on unless this is set. */
	readonly dangerouslyAllowNetwork?: boolean;
	/**
	 * Called before every WebSocket and every page but `/readyz`; a refused client gets 401 and the text. Without it
	 * every client is accepted.
	 */
	readonly authorize?: (request: ConnectionRequest) => Promise<AdmissionResult<Pass>>;
	/** Clients that come earlier wait for it; nothing they send is read before. */
	readonly ready?: Promise<unknown>;
	/** `pass` is what `authorize` gave, `user` the id of the user of this machine who connected, where that was looked up. */
	readonly accept: (transport: Transport, pass: Pass, user?: number) => void;
	/** Whether the holder of the pass may have one more WebSocket; 503 otherwise. */
	readonly hasRoom?: (pass: Pass) => boolean;
	/** More WebSockets than this are turned away with 503. */
	readonly maxConnections?: number;
	/** Origins whose web pages may connect; none by default. */
	readonly allowOrigins?: readonly string[];
	/** Why a connection from this machine is refused, for the client; undefined lets it in. */
	readonly refuseLocalPeer?: (peer: LocalPeer) => string | undefined;
	/** Names, beside its addresses and `localhost`, by which clients may call a listener without TLS. */
	readonly allowHosts?: readonly string[];
	/** Whether the holder of the pass may see the pages; 403 otherwise. */
	readonly mayReadPages?: (pass: Pass) => boolean;
	/** Pages for people and machines that watch the server, by path. */
	readonly pages?: HttpEndpoints['pages'];
	/** Serves `wss:` instead of `ws:`. */
	readonly tls?: TlsIdentity;
	/** How long a TLS handshake may take. */
	readonly handshakeMs?: number;
	/** When silent clients are pinged and given up; members that are left out have their defaults. */
	readonly peerTimes?: Partial<PeerTimes>;
	/** A client does not answer, but its machine does: the program is stopped, or a proxy holds the connection. */
	readonly onStoppedPeer?: (peer: string) => void;
}

/** Options of `listen`. */
export interface ListenOptions<Pass = undefined> extends ListenerOptions<Pass> {
	/** IP literal. */
	readonly host: string;
	readonly port: number;
}

/** Where a listener is, and what follows from that. */
export interface ListenPlace {
	/** Calls back once connections can come. */
	readonly start: (server: Server, listening: () => void) => void;
	readonly urlOf: (server: Server) => string;
	/** Called once connections can come; the returned function is called when they no longer can. */
	readonly listening?: (server: Server) => () => void;
	/** Names the far end of a connection. */
	readonly describePeer: (socket: Socket) => string;
	/** Whether a `Host` header names this server; all do where it is left out. */
	readonly isKnownHost?: ((header: string | undefined) => boolean) | undefined;
	/** Why a connection is refused, for the client; undefined lets it in. */
	readonly refusePeer?: ((socket: Socket) => string | undefined) | undefined;
	/** User at the far end, if `refusePeer` has looked that up. */
	readonly userOf?: ((socket: Socket) => number | undefined) | undefined;
}

/** An open listener. */
export interface Listener {
	/** `ws://127.0.0.1:PORT` with the real port, `wss://…`, or `unix:PATH`. */
	readonly url: string;
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
export async function listen<Pass = undefined>(options: ListenOptions<Pass>): Promise<Listener> {
	const {authorize, dangerouslyAllowNetwork, host, port, tls} = options;
	if (!dangerouslyAllowNetwork && !authorize && !isLoopback(host)) throw networkRefusedError(host);
	const users = new WeakMap<Socket, number>();
	return openListener(options, {
		start: (server, listening) => server.listen({host, port, backlog: BACKLOG}, listening),
		userOf: socket => users.get(socket),
		urlOf: server => formatUrl(server.address() as AddressInfo, tls !== undefined),
		listening: server => registerListening(server.address() as AddressInfo),
		describePeer: formatAddress,
		refusePeer: process.platform === 'linux' ? createPeerCheck(options, users) : undefined,
		// With TLS a page under another name has no certificate for it, and is never sent.
		isKnownHost: tls ? undefined : createHostCheck(host, options.allowHosts ?? []),
	});
}

/** Looks up each connection at most once, and those of other machines never. */
function createPeerCheck<Pass>(
	{authorize, host, refuseLocalPeer}: ListenOptions<Pass>,
	users: WeakMap<Socket, number>,
): (socket: Socket) => string | undefined {
	const refuseStranger = !authorize && isLoopback(host) ? createUserCheck() : undefined;
	const owners = new PeerOwners();
	return socket => {
		if (!refuseStranger && (!refuseLocalPeer || !isOfThisMachine(socket.remoteAddress ?? ''))) return undefined;
		let found: {readonly owner: PeerOwner | undefined} | undefined;
		const findOwner = (): PeerOwner | undefined => {
			found ??= {owner: owners.find(socket)};
			if (found.owner) users.set(socket, found.owner.userId);
			return found.owner;
		};
		return refuseStranger?.(findOwner) ?? refuseLocalPeer?.({kind: 'tcp', findOwner});
	};
}

/** Serves at any place; `listen` is for addresses of the network. */
export async function openListener<Pass>(options: ListenerOptions<Pass>, place: ListenPlace): Promise<Listener> {
	const {authorize, maxConnections = Number.POSITIVE_INFINITY} = options;
	const {refusePeer = () => undefined, isKnownHost = () => true} = place;
	const toConnectionRequest = ({headers, socket}: IncomingMessage): ConnectionRequest => ({
		authorization: headers.authorization,
		peer: place.describePeer(socket),
	});
	const site: HttpEndpoints = {
		pages: options.pages ?? {},
		origins: new Set(options.allowOrigins),
		isKnownHost,
		onRefused: ({socket, url}, {status, text}) => {
			if (REFUSALS.has(status)) options.onRefused?.(toRefused(place, socket, url, status, text));
		},
		refusal: async request => {
			const stranger = refusePeer(request.socket);
			if (stranger !== undefined) return {status: 403, text: stranger};
			const result = await authorize?.(toConnectionRequest(request));
			if (result?.kind === 'refused') return {status: 401, text: result.text};
			if (!result || options.mayReadPages?.(result.pass) !== false) return undefined;
			return {status: 403, text: 'the token lacks the scope to see this page'};
		},
	};
	let isReady = options.ready === undefined;
	const opening = async (): Promise<void> => {
		await options.ready;
		isReady = true;
	};
	if (!isReady) void opening();
	const front = createHttpServer(options);
	const {server} = front;
	server.on('request', (request, response) => {
		answerHttpRequest(request, response, site).catch(() => response.destroy());
	});
	const webSockets = new WebSocketServer({
		noServer: true,
		perMessageDeflate: false,
		maxPayload: MAX_MESSAGE_BYTES,
		clientTracking: true,
		// There is no subprotocol; left alone, the library picks whatever the client offers first.
		handleProtocols: () => false,
	});
	const watching = {monitor: new PeerMonitor(readPeerTimes(options)), onStopped: options.onStoppedPeer};
	const refuse = (request: IncomingMessage, socket: Duplex, status: number, text = ''): void => {
		site.onRefused(request, {status, text});
		answerAndClose(socket, status, text);
	};
	const admit = (request: IncomingMessage, socket: Duplex, head: Buffer, pass: Pass): void => {
		if (webSockets.clients.size >= maxConnections || options.hasRoom?.(pass) === false) {
			refuse(request, socket, 503);
			return;
		}
		webSockets.handleUpgrade(request, socket, head, webSocket => {
			const peer = place.describePeer(socket as Socket);
			const transport = new WebSocketTransport(webSocket, socket, peer, 'server', watching);
			options.accept(transport, pass, place.userOf?.(socket as Socket));
		});
	};
	server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		socket.on('error', () => socket.destroy());
		const status = httpStatusOf(request, true, site);
		const stranger = status === undefined ? refusePeer(socket as Socket) : undefined;
		if (status !== undefined) refuse(request, socket, status, reasonOf(status));
		else if (stranger !== undefined) refuse(request, socket, 403, stranger);
		// Nothing to wait for: a connection is accepted in the tick in which it is asked for.
		else if (!authorize && isReady) admit(request, socket, head, undefined as Pass);
		else {
			const authorizeAndAdmit = async (): Promise<void> => {
				await options.ready;
				if (!authorize) return admit(request, socket, head, undefined as Pass);
				const result = await authorize(toConnectionRequest(request));
				if (result.kind === 'pass') admit(request, socket, head, result.pass);
				else refuse(request, socket, 401, result.text);
			};
			authorizeAndAdmit().catch(() => socket.destroy());
		}
	});
	await bind(server, place);
	const closed = place.listening?.(server);
	return {
		url: place.urlOf(server),
		renew: identity => replaceIdentity(server, identity),
		close: () => {
			closed?.();
			return closeServer(front, webSockets);
		},
	};
}

function readPeerTimes<Pass>({peerTimes}: ListenerOptions<Pass>): PeerTimes {
	const times = {...SERVER_PEER_TIMES, ...peerTimes};
	const fault = findTimesFault(times);
	if (fault !== undefined) throw new LongarmError('SETTING_INVALID', {message: fault});
	return times;
}

function createHttpServer<Pass>({tls, handshakeMs, maxConnections}: ListenerOptions<Pass>): TlsServer {
	const settings = {noDelay: true, ...REQUEST_LIMITS};
	const front = tls
		? createTlsServer(tls, {...settings, handshakeMs})
		: {server: createServer(settings), giveUpHandshakes: () => {}};
	if (maxConnections !== undefined) front.server.maxConnections = maxConnections + MAX_PENDING_UPGRADES;
	return front;
}

function toRefused(
	{describePeer}: ListenPlace,
	socket: Socket,
	url = '',
	status: number,
	text: string,
): RefusedRequest {
	return {
		from: socket.remoteAddress?.replace(/^::ffff:(?=[\d.]+$)/i, '') ?? describePeer(socket),
		port: socket.remotePort,
		path: url.split('?', 1)[0]!,
		status,
		reason: text === '' ? STATUS_CODES[status]! : text,
	};
}

/** Sends the status and closes the socket, by force if the client does not. */
function answerAndClose(socket: Duplex, status: number, text = ''): void {
	const type = text === '' ? '' : 'Content-Type: text/plain; charset=utf-8\r\n';
	const version = status === 426 ? `Sec-WebSocket-Version: ${WEB_SOCKET_VERSION}\r\n` : '';
	const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n${type}${version}`;
	socket.end(`${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
	socket.resume();
	const destroyTimer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS);
	socket.once('close', () => clearTimeout(destroyTimer));
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

async function closeServer({server, giveUpHandshakes}: TlsServer, webSockets: WebSocketServer): Promise<void> {
	const closed = new Promise<void>(resolve => server.close(() => resolve()));
	for (const client of webSockets.clients) client.close(1001);
	server.closeIdleConnections();
	const destroyTimer = setTimeout(() => {
		for (const client of webSockets.clients) client.terminate();
		server.closeAllConnections();
		giveUpHandshakes();
	}, CLOSE_TIMEOUT_MS);
	await closed;
	clearTimeout(destroyTimer);
}

function formatUrl({address, family, port}: AddressInfo, isEncrypted: boolean): string {
	return `${isEncrypted ? 'wss' : 'ws'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

function formatAddress({remoteAddress, remotePort, remoteFamily}: Socket): string {
	return `${remoteFamily === 'IPv6' ? `[${remoteAddress}]` : remoteAddress}:${remotePort}`;
}

function networkRefusedError(host: string): LongarmError {
	return new LongarmError('LISTEN_REFUSED', {
		message: `refusing to listen on ${host}: without authentication anybody who reaches it can run programs here`,
		context: {host},
	});
}
