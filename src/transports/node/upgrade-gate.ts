import {type IncomingMessage, type ServerResponse, STATUS_CODES} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {type WebSocket, WebSocketServer} from 'ws';
import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../transport.js';
import {completeUpgrade, endUpgrade} from './complete-upgrade.js';
import {
	answerHttpRequest,
	type HttpEndpoints,
	httpStatusOf,
	type Refusal,
	reasonOf,
	UNKNOWN_HOST,
	upgradeStatusOf,
	WEB_SOCKET_VERSION,
} from './http-endpoints.js';
import {type HttpSite, isForSite, type PreparedConnection} from './http-site.js';
import type {ConnectionRequest, ListenerOptions, RefusedRequest} from './listener-options.js';
import {PeerMonitor} from './peer-monitor.js';
import {findTimesFault, type PeerTimes, SERVER_PEER_TIMES} from './peer-times.js';
import {WebSocketTransport} from './web-socket.js';

/** Time for the closing handshake of open connections when the listener closes. */
export const CLOSE_TIMEOUT_MS = 250;

/** Answers to clients that are refused for who they are: token, user, origin, name, quota. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 421, 503]);
const CLOSED_TEXT = 'this server is about to end';
const nothing = (): void => {};

/** Place that the connections of a gate come to. */
export interface GatePlace {
	/** Paths of the WebSocket; `/` by default. */
	readonly paths?: readonly string[];
	/** Names the far end of a connection. */
	readonly describePeer: (socket: Socket) => string;
	/** Whether a `Host` header names this server; all do where it is left out. */
	readonly isKnownHost?: HttpEndpoints['isKnownHost'] | undefined;
	/** Why a connection is refused, for the client; undefined lets it in. */
	readonly refusePeer?: ((socket: Socket) => string | undefined) | undefined;
	/** User at the far end, if `refusePeer` has looked that up. */
	readonly userOf?: ((socket: Socket) => number | undefined) | undefined;
}

/** Decides about every request to an HTTP server: which becomes a connection, which gets a page, and which is refused. */
export class UpgradeGate<Pass> {
	readonly #options: ListenerOptions<Pass>;
	readonly #place: GatePlace;
	readonly #site: HttpEndpoints;
	readonly #watching: {readonly monitor: PeerMonitor; readonly onStopped: ListenerOptions<Pass>['onStoppedPeer']};
	readonly #refusePeer: (socket: Socket) => string | undefined;
	#isReady: boolean;
	#isClosed = false;
	readonly #webSockets = new WebSocketServer({
		noServer: true,
		perMessageDeflate: false,
		maxPayload: MAX_MESSAGE_BYTES,
		clientTracking: true,
		// The transport answers pings, as far as the peer reads.
		autoPong: false,
		// There is no subprotocol; left alone, the library picks whatever the client offers first.
		handleProtocols: () => false,
	});

	constructor(options: ListenerOptions<Pass>, place: GatePlace) {
		this.#options = options;
		this.#place = place;
		this.#refusePeer = place.refusePeer ?? (() => undefined);
		this.#site = this.#createSite();
		this.#watching = {monitor: new PeerMonitor(readPeerTimes(options)), onStopped: options.onStoppedPeer};
		this.#isReady = options.ready === undefined;
		if (!this.#isReady) void this.#waitUntilReady();
	}

	/** Handler of the event `request`. */
	readonly answer = (request: IncomingMessage, response: ServerResponse): void => {
		const {site} = this.#options;
		const answered =
			site && isForSite(site, request)
				? this.#answerSite(site, request, response)
				: answerHttpRequest(request, response, this.#site);
		answered.catch(() => response.destroy());
	};

	/** Handler of the event `upgrade`. */
	readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
		const {authorize, site} = this.#options;
		socket.on('error', () => socket.destroy());
		if (site && isForSite(site, request)) {
			this.#upgradeSite(site, request, socket, head).catch(() => socket.destroy());
			return;
		}
		const status = httpStatusOf(request, true, this.#site);
		const stranger = status === undefined ? this.#refusePeer(socket as Socket) : undefined;
		if (status !== undefined) this.#refuse(request, socket, status, reasonOf(status));
		else if (stranger !== undefined) this.#refuse(request, socket, 403, stranger);
		// Nothing to wait for: a connection is accepted in the tick in which it is asked for.
		else if (!authorize && this.#isReady) this.#admitPass(request, socket, head, undefined as Pass);
		else this.#authorizeAndAdmit(request, socket, head).catch(() => socket.destroy());
	};

	/** Takes no more clients and asks every one to leave; settles when they have. */
	async closeAll(): Promise<void> {
		this.#isClosed = true;
		const clients = [...this.#webSockets.clients];
		const left = clients.map(client => new Promise(resolve => client.once('close', resolve)));
		for (const client of clients) client.close(1001);
		await Promise.all(left);
	}

	/** Ends every connection at once. */
	terminateAll(): void {
		for (const client of this.#webSockets.clients) client.terminate();
	}

	#createSite(): HttpEndpoints {
		const {pages = {}, allowOrigins, isOpen = () => true, authorize, mayReadPages, onRefused} = this.#options;
		const {paths = ['/'], isKnownHost = () => true, describePeer} = this.#place;
		return {
			paths: new Set(paths),
			pages,
			origins: new Set(allowOrigins),
			isKnownHost,
			isOpen,
			onRefused: ({socket, url}, {status, text}) => {
				if (REFUSALS.has(status)) onRefused?.(toRefused(describePeer, socket, url, status, text));
			},
			refusal: async request => {
				const stranger = this.#refusePeer(request.socket);
				if (stranger !== undefined) return {status: 403, text: stranger};
				const result = await authorize?.(this.#toConnectionRequest(request));
				if (result?.kind === 'refused') return {status: 401, text: result.text};
				if (!result || mayReadPages?.(result.pass) !== false) return undefined;
				return {status: 403, text: 'the token lacks the scope to see this page'};
			},
		};
	}

	async #answerSite(site: HttpSite, request: IncomingMessage, response: ServerResponse): Promise<void> {
		const refusal = this.#siteRefusal(request);
		if (!refusal) return site.answer(request, response);
		this.#site.onRefused(request, refusal);
		response.writeHead(refusal.status, {'content-length': Buffer.byteLength(refusal.text)}).end(refusal.text);
	}

	async #upgradeSite(site: HttpSite, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
		const status = upgradeStatusOf(request);
		const refusal = this.#siteRefusal(request) ?? (status === undefined ? undefined : {status, text: ''});
		if (refusal) return this.#refuse(request, socket, refusal.status, refusal.text);
		await this.#options.ready;
		const admission = await site.admit(request);
		if (admission.kind === 'pass') this.#admit(request, socket, head, admission);
		else this.#refuse(request, socket, admission.status, admission.text);
	}

	/** Undefined for a request that names this server, by a user who may ask it. */
	#siteRefusal(request: IncomingMessage): Refusal | undefined {
		if (!this.#site.isKnownHost(request.headers.host, request.socket)) {
			return {status: UNKNOWN_HOST, text: reasonOf(UNKNOWN_HOST)};
		}
		const stranger = this.#refusePeer(request.socket);
		return stranger === undefined ? undefined : {status: 403, text: stranger};
	}

	async #waitUntilReady(): Promise<void> {
		await this.#options.ready;
		this.#isReady = true;
	}

	async #authorizeAndAdmit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
		const {ready, authorize} = this.#options;
		await ready;
		if (!authorize) return this.#admitPass(request, socket, head, undefined as Pass);
		const result = await authorize(this.#toConnectionRequest(request));
		if (result.kind === 'pass') this.#admitPass(request, socket, head, result.pass);
		else this.#refuse(request, socket, 401, result.text);
	}

	#admitPass(request: IncomingMessage, socket: Duplex, head: Buffer, pass: Pass): void {
		const {hasRoom, accept} = this.#options;
		const hasRoomFor = (): boolean => hasRoom?.(pass) !== false;
		const prepared = {
			accept: (transport: Transport, user?: number) => accept(transport, pass, user),
			withdraw: nothing,
		};
		this.#admit(request, socket, head, prepared, hasRoomFor);
	}

	#admit(
		request: IncomingMessage,
		socket: Duplex,
		head: Buffer,
		{accept, withdraw}: PreparedConnection,
		hasRoom?: () => boolean,
	): void {
		const {maxConnections = Number.POSITIVE_INFINITY, isOpen} = this.#options;
		if (this.#isClosed || isOpen?.() === false) {
			withdraw();
			this.#refuse(request, socket, 503, CLOSED_TEXT);
			return;
		}
		if (this.#webSockets.clients.size >= maxConnections || hasRoom?.() === false) {
			withdraw();
			this.#refuse(request, socket, 503);
			return;
		}
		const {describePeer, userOf} = this.#place;
		const join = (webSocket: WebSocket): void => {
			const peer = describePeer(socket as Socket);
			const transport = new WebSocketTransport(webSocket, socket, peer, 'server', this.#watching);
			accept(transport, userOf?.(socket as Socket));
		};
		completeUpgrade(this.#webSockets, {request, socket, head}, join, withdraw);
	}

	#refuse(request: IncomingMessage, socket: Duplex, status: number, text = ''): void {
		this.#site.onRefused(request, {status, text});
		answerAndClose(socket, status, text);
	}

	#toConnectionRequest({headers, socket}: IncomingMessage): ConnectionRequest {
		return {authorization: headers.authorization, peer: this.#place.describePeer(socket)};
	}
}

function readPeerTimes<Pass>({peerTimes}: ListenerOptions<Pass>): PeerTimes {
	const times = {...SERVER_PEER_TIMES, ...peerTimes};
	const fault = findTimesFault(times);
	if (fault !== undefined) throw new LongarmError('SETTING_INVALID', {message: fault});
	return times;
}

function toRefused(
	describePeer: GatePlace['describePeer'],
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
	endUpgrade(socket, `${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}
