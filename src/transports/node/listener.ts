import {createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES} from 'node:http';
import type {AddressInfo, Socket} from 'node:net';
import {BlockList, isIP} from 'node:net';
import type {Duplex} from 'node:stream';
import {WebSocketServer} from 'ws';
import {MAX_MESSAGE_BYTES} from '../../protocol/limits.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../transport.js';
import {WebSocketTransport} from './web-socket.js';

/** Connections the kernel holds for us while we are busy. */
const BACKLOG = 1024;
/** How long open connections may take to say goodbye when the listener closes. */
const GOODBYE_MS = 250;

export interface ListenOptions {
	/** IP literal. */
	readonly host: string;
	readonly port: number;
	/** Without authentication anybody who reaches the port owns this machine; only loopback is listened on unless this is set. */
	readonly dangerouslyAllowNetwork?: boolean;
	readonly accept: (transport: Transport) => void;
	/** More WebSockets than this are turned away with 503. */
	readonly maxConnections?: number;
	/** Origins whose web pages may connect; none by default. */
	readonly allowOrigins?: readonly string[];
	/** Pages for people and machines that watch the server, by path. */
	readonly pages?: Readonly<Record<string, () => Page>>;
}

/** What a page answers. */
export interface Page {
	readonly type: string;
	readonly body: string;
}

export interface Listener {
	/** `ws://127.0.0.1:PORT` with the real port. */
	readonly url: string;
	/** Takes no more connections and ends those that are open. */
	close(): Promise<void>;
}

/**
 * Serves the protocol on `/`, and `/readyz` for health checks. A request that names an origin comes from a web page and
 * is refused unless that origin is allowed.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
	if (!options.dangerouslyAllowNetwork && !isLoopback(options.host)) throw openToTheNetwork(options.host);
	const site: Site = {pages: options.pages ?? {}, origins: new Set(options.allowOrigins)};
	const server = createServer({noDelay: true}, (request, response) => answer(request, response, site));
	const webSockets = new WebSocketServer({
		noServer: true,
		perMessageDeflate: false,
		maxPayload: MAX_MESSAGE_BYTES,
		clientTracking: true,
		// There is no subprotocol; left alone, the library picks whatever the client offers first.
		handleProtocols: () => false,
	});
	server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		socket.on('error', () => socket.destroy());
		const full = webSockets.clients.size >= (options.maxConnections ?? Number.POSITIVE_INFINITY);
		const refusal = statusOf(request, true, site) ?? (full ? 503 : undefined);
		if (refusal) {
			refuse(socket, refusal);
			return;
		}
		webSockets.handleUpgrade(request, socket, head, webSocket => {
			options.accept(new WebSocketTransport(webSocket, socket, addressOf(socket as Socket)));
		});
	});
	await bound(server, options);
	const {address, family, port} = server.address() as AddressInfo;
	return {
		url: `ws://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
		close: () => shut(server, webSockets),
	};
}

/** What there is besides the protocol, and who may ask. */
interface Site {
	readonly pages: Readonly<Record<string, () => Page>>;
	readonly origins: ReadonlySet<string>;
}

function answer(request: IncomingMessage, response: ServerResponse, site: Site): void {
	const status = statusOf(request, false, site) ?? 400;
	const page = status === 200 ? site.pages[pathOf(request)]?.() : undefined;
	if (!page) {
		response.writeHead(status, {'content-length': 0}).end();
		return;
	}
	response.writeHead(status, {'content-type': page.type}).end(request.method === 'HEAD' ? undefined : page.body);
}

function pathOf({url = ''}: IncomingMessage): string {
	return url.split('?', 1)[0]!;
}

/** The status to answer with; undefined lets an upgrade through. */
function statusOf(request: IncomingMessage, upgrade: boolean, {pages, origins}: Site): number | undefined {
	const {method, headers} = request;
	const path = pathOf(request);
	if (headers.origin !== undefined && !origins.has(headers.origin)) return 403;
	if (path === '/readyz' || Object.hasOwn(pages, path)) return method === 'GET' || method === 'HEAD' ? 200 : 405;
	if (path !== '/') return 404;
	if (method !== 'GET') return 405;
	return upgrade ? undefined : 400;
}

function refuse(socket: Duplex, status: number): void {
	socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function bound(server: Server, {host, port}: ListenOptions): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once('error', reject);
		server.listen({host, port, backlog: BACKLOG}, () => {
			server.off('error', reject);
			// From here on it is always a single connection that could not be accepted, for want of memory, say.
			server.on('error', () => {});
			resolve();
		});
	});
}

async function shut(server: Server, webSockets: WebSocketServer): Promise<void> {
	const closed = new Promise<void>(resolve => server.close(() => resolve()));
	for (const client of webSockets.clients) client.close(1001);
	server.closeIdleConnections();
	const hurry = setTimeout(() => {
		for (const client of webSockets.clients) client.terminate();
		server.closeAllConnections();
	}, GOODBYE_MS);
	await closed;
	clearTimeout(hurry);
}

function addressOf({remoteAddress, remotePort, remoteFamily}: Socket): string {
	return `${remoteFamily === 'IPv6' ? `[${remoteAddress}]` : remoteAddress}:${remotePort}`;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

function isLoopback(host: string): boolean {
	return isIP(host) !== 0 && loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}

function openToTheNetwork(host: string): LongarmError {
	return new LongarmError('LISTEN_REFUSED', {
		message: `refusing to listen on ${host}: without authentication anybody who reaches it can run programs here`,
		context: {host},
	});
}
