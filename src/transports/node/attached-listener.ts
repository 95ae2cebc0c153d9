import {type IncomingMessage, type Server, ServerResponse} from 'node:http';
import type {Server as SecureServer} from 'node:https';
import type {AddressInfo, Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {waitAtMost} from '../../shared/async/timeout.js';
import {formatPeerAddress, formatWebSocketUrl} from './address-text.js';
import {createHostCheck} from './host-header.js';
import type {ListenerOptions} from './listener-options.js';
import {isLoopback} from './loopback.js';
import {registerListening, withoutMapping} from './own-addresses.js';
import {createPeerCheck} from './peer-check.js';
import {descriptorOf} from './socket-descriptor.js';
import {CLOSE_TIMEOUT_MS, UpgradeGate} from './upgrade-gate.js';

const PATH = /^\/[^?#\s]*$/;

/** Options of a listener on an HTTP server of the caller's own; TLS, other pages and time limits are that server's. */
export interface AttachOptions<Pass = undefined>
	extends Omit<ListenerOptions<Pass>, 'tls' | 'handshakeMs' | 'pages' | 'mayReadPages' | 'listeningFd' | 'site'> {
	/** Of `node:http` or `node:https`; it may listen already, or later. */
	readonly server: Server | SecureServer;
	/** Path of the WebSocket, with a slash at its end or without; `/` by default. */
	readonly path?: string;
}

/** A listener on an HTTP server of the caller's own. */
export interface AttachedListener {
	/** `ws://HOST:PORT/PATH` or `wss://…`; undefined as long as the server listens on no port. */
	readonly url: string | undefined;
	/** Takes no more connections and ends those that are open; the server goes on. */
	close(): Promise<void>;
}

/** Paths that are taken, so that no request is answered twice. */
const taken = new WeakMap<Server | SecureServer, Set<string>>();

/**
 * Serves the protocol to upgrade requests for a path; all other requests stay the server's. The same checks apply as to a
 * listener of our own, connection by connection: without `authorize` only processes of this user are let in.
 */
export function attachListener<Pass>(options: AttachOptions<Pass>): AttachedListener {
	const {server} = options;
	const path = takePath(options);
	const paths = path === '' ? ['/'] : [path, `${path}/`];
	const gate = createGate(options, paths);
	const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
		if (paths.includes(request.url?.split('?', 1)[0] ?? '')) gate.upgrade(request, socket, head);
		else if (server.listenerCount('upgrade') === 1) answerWithoutUpgrade(server, request, socket as Socket);
	};
	server.on('upgrade', upgrade);
	const stopRegistering = registerWhileListening(server);
	let isClosed = false;
	return {
		get url() {
			const address = server.address();
			return isPort(address) ? `${formatWebSocketUrl(address, isSecure(server))}${path}` : undefined;
		},
		async close() {
			server.off('upgrade', upgrade);
			// A second call must not give away the path of the listener that has it by now.
			if (!isClosed) taken.get(server)?.delete(path);
			isClosed = true;
			stopRegistering();
			await waitAtMost(gate.closeAll(), CLOSE_TIMEOUT_MS);
			gate.terminateAll();
		},
	};
}

function createGate<Pass>(options: AttachOptions<Pass>, paths: readonly string[]): UpgradeGate<Pass> {
	const {authorize, dangerouslyAllowNetwork, server, allowHosts = [], refuseLocalPeer} = options;
	const users = new WeakMap<Socket, number>();
	const isForThisUser = (socket: Socket): boolean => !authorize && isLoopback(nearAddressOf(socket));
	const refusePeer =
		process.platform === 'linux' ? createPeerCheck({isForThisUser, refuseLocalPeer}, users) : () => undefined;
	return new UpgradeGate(options, {
		paths,
		describePeer: socket => (socket.remoteAddress === undefined ? 'unix' : formatPeerAddress(socket)),
		userOf: socket => users.get(socket),
		refusePeer: socket => {
			const near = nearAddressOf(socket);
			if (!authorize && !dangerouslyAllowNetwork && !isLoopback(near)) return NO_AUTHENTICATION;
			return near === '' ? refuseLocalPeer?.({kind: 'unix', fd: descriptorOf(socket)}) : refusePeer(socket);
		},
		// With TLS a page under another name has no certificate for it, and is never sent.
		isKnownHost: (header, socket) => isSecure(server) || createHostCheck(nearAddressOf(socket), allowHosts)(header),
	});
}

const NO_AUTHENTICATION = 'without authentication only connections to a loopback address are accepted';

/** The path without a slash at its end. */
function takePath<Pass>({server, path: given = '/'}: AttachOptions<Pass>): string {
	if (!PATH.test(given)) throw new TypeError(`\`${given}\` is no path: it has to begin with a slash, without a query`);
	const path = given.replace(/\/$/, '');
	const paths = taken.get(server) ?? new Set();
	if (paths.has(path)) throw new TypeError(`there is a listener for ${given} on this server already`);
	taken.set(server, paths.add(path));
	return path;
}

/** So that no client is passed on to ourselves, as it would be another program of this machine then. */
function registerWhileListening(server: Server | SecureServer): () => void {
	let unregister: (() => void) | undefined;
	const register = (): void => {
		unregister?.();
		const address = server.address();
		unregister = isPort(address) ? registerListening(address) : undefined;
	};
	const stopped = (): void => unregister?.();
	if (server.listening) register();
	server.on('listening', register);
	server.on('close', stopped);
	return () => {
		server.off('listening', register);
		server.off('close', stopped);
		stopped();
	};
}

/**
 * Without a handler for upgrades the runtime treats such a request like any other; with ours, it no longer does. A body would
 * have been read as part of the new protocol.
 */
function answerWithoutUpgrade(server: Server | SecureServer, request: IncomingMessage, socket: Socket): void {
	socket.on('error', () => socket.destroy());
	const {'content-length': length = '0', 'transfer-encoding': coding} = request.headers;
	if (length !== '0' || coding !== undefined) {
		socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
		return;
	}
	const response = new ServerResponse(request);
	response.shouldKeepAlive = false;
	response.assignSocket(socket);
	response.once('finish', () => {
		response.detachSocket(socket);
		socket.end();
	});
	server.emit('request', request, response);
}

/** Our end of a connection; empty for a socket in the file system. */
function nearAddressOf({localAddress}: Socket): string {
	return localAddress === undefined ? '' : withoutMapping(localAddress);
}

function isSecure(server: Server | SecureServer): boolean {
	return 'setSecureContext' in server;
}

function isPort(address: AddressInfo | string | null): address is AddressInfo {
	return address !== null && typeof address === 'object';
}
