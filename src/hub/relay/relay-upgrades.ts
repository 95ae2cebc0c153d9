import type {IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import {type WebSocket, WebSocketServer} from 'ws';
import {MAX_RELAY_MESSAGE_BYTES} from '../../protocol/relay/relay-frame.js';
import type {Logger} from '../../shared/logger.js';
import {PeerMonitor} from '../../transports/node/peer-monitor.js';
import type {PeerTimes} from '../../transports/node/peer-times.js';
import {RendezvousSocket} from '../../transports/node/relay/rendezvous-socket.js';
import {addressOfPeer} from '../access/hub-access.js';
import type {PlainExecutors} from '../gateway/plain-executors.js';
import type {HubMetrics} from '../hub-metrics.js';
import type {RegistryService} from '../registry/registry-service.js';
import {readTicket, TICKET_MS, type Ticket} from '../registry/tickets.js';
import type {Relay} from './relay.js';

/** Tickets of clients that were used and have not expired. */
const MAX_USED_TICKETS = 100_000;
/** A dead executor has to be known before its clients give up, which stock ones do after 25 s. */
export const HUB_PEER_TIMES: PeerTimes = {pingIntervalMs: 10_000, peerTimeoutMs: 20_000, stoppedPeerMs: 0};
/** Close code of WebSocket. */
const TRY_AGAIN_LATER = 1013;

export interface RelayUpgradesOptions {
	readonly relay: Relay;
	readonly service: RegistryService;
	readonly ticketSecret: Uint8Array;
	readonly isGoodToken: (id: string) => boolean;
	/** Takes sockets of executors of the first versions; there are none without a gateway. */
	readonly plainExecutors?: PlainExecutors | undefined;
	readonly peerTimes?: PeerTimes | undefined;
	readonly metrics: HubMetrics;
	readonly logger: Logger;
}

/** Lets sockets with a ticket in, and joins them to the relay. */
export class RelayUpgrades {
	readonly #options: RelayUpgradesOptions;
	readonly #server = new WebSocketServer({
		noServer: true,
		perMessageDeflate: false,
		clientTracking: false,
		maxPayload: MAX_RELAY_MESSAGE_BYTES,
	});
	readonly #monitor: PeerMonitor;
	/** Nonces of tickets of clients, with the time they expire, oldest first. */
	readonly #used = new Map<string, number>();

	/** All that are open. */
	readonly #sockets = new Set<WebSocket>();

	constructor(options: RelayUpgradesOptions) {
		this.#options = options;
		this.#monitor = new PeerMonitor(options.peerTimes ?? HUB_PEER_TIMES);
	}

	async handle(request: IncomingMessage, socket: Duplex, head: Buffer, query: URLSearchParams): Promise<void> {
		const ticket = await this.#check(query);
		if ('reason' in ticket) {
			const {logger, metrics} = this.#options;
			logger.info('a socket was not let in', {reason: ticket.reason, address: addressOfPeer(request)});
			metrics.recordRefusal(ticket.reason);
			refuseUpgrade(socket, ticket.status, ticket.reason);
			return;
		}
		this.#server.handleUpgrade(request, socket, head, webSocket => {
			this.#sockets.add(webSocket);
			webSocket.on('close', () => this.#sockets.delete(webSocket));
			this.#options.metrics.recordSocket(ticket.role);
			this.#join(webSocket, ticket, addressOfPeer(request));
		});
	}

	/** Ends sockets whose peers do not answer to a close. */
	destroyAll(): void {
		for (const webSocket of this.#sockets) webSocket.terminate();
	}

	/** The ticket, or why it is refused. A stock executor whose ticket is refused registers again, and ends if that fails: in doubt it is 503. */
	async #check(query: URLSearchParams): Promise<Ticket | {readonly status: number; readonly reason: string}> {
		const ticket = readTicket(this.#options.ticketSecret, query);
		if (typeof ticket === 'string') return {status: 401, reason: ticket};
		const {role, environmentId, registrationId, tokenId, nonce, expiresAt} = ticket;
		if (!this.#options.isGoodToken(tokenId)) return {status: 401, reason: 'expired'};
		if (role === 'plain') return this.#use(nonce, expiresAt) ? ticket : {status: 401, reason: 'expired'};
		if (!(await this.#options.service.isCurrent(environmentId, registrationId))) {
			return {status: 409, reason: 'unexpected_executor_registration_id'};
		}
		if (role === 'environment') return ticket;
		if (this.#options.relay.findExecutor(environmentId)?.registrationId !== registrationId) {
			return {status: 503, reason: 'route_unavailable'};
		}
		return this.#use(nonce, expiresAt) ? ticket : {status: 401, reason: 'expired'};
	}

	/** False for a ticket that was used before. */
	#use(nonce: string, expiresAt: number): boolean {
		const now = Date.now();
		for (const [used, until] of this.#used) {
			if (until > now && this.#used.size < MAX_USED_TICKETS) break;
			this.#used.delete(used);
		}
		if (this.#used.has(nonce)) return false;
		this.#used.set(nonce, Math.min(expiresAt, now + TICKET_MS.harness));
		return true;
	}

	#join(webSocket: WebSocket, ticket: Ticket, address: string): void {
		if (ticket.role === 'environment') this.#joinExecutor(webSocket, ticket, address);
		else if (ticket.role === 'harness') this.#joinHarness(webSocket, ticket, address);
		else if (this.#options.plainExecutors) this.#options.plainExecutors.add(webSocket, ticket, address);
		else webSocket.terminate();
	}

	#joinExecutor(webSocket: WebSocket, ticket: Ticket, address: string): void {
		const {environmentId, tokenId: token} = ticket;
		const {relay, logger} = this.#options;
		const socket = new RendezvousSocket(
			webSocket,
			`executor ${environmentId}`,
			{
				message: bytes => relay.receiveFromExecutor(executor, bytes),
				text: () => {},
				drained: () => relay.executorDrained(executor),
				closed: error => {
					relay.removeExecutor(executor);
					logger.info('executor offline', {environment: environmentId, token, ...(error && {reason: error.message})});
				},
			},
			this.#monitor,
		);
		const executor = relay.addExecutor(ticket, socket);
		logger.info('executor online', {environment: environmentId, token, address});
	}

	#joinHarness(webSocket: WebSocket, ticket: Ticket, address: string): void {
		const {environmentId, registrationId, tokenId} = ticket;
		const {relay, logger} = this.#options;
		const executor = relay.findExecutor(environmentId);
		// It may have gone during the upgrade.
		if (executor?.registrationId !== registrationId) {
			webSocket.terminate();
			return;
		}
		const socket = new RendezvousSocket(
			webSocket,
			`client of ${environmentId}`,
			{
				message: bytes => harness && relay.receiveFromHarness(harness, bytes),
				text: () => socket.destroy(),
				drained: () => harness && relay.harnessDrained(harness),
				closed: () => {
					if (harness) relay.removeHarness(harness);
					logger.info('client left', {environment: environmentId, token: tokenId});
				},
			},
			this.#monitor,
		);
		const harness = relay.addHarness(executor, tokenId, socket);
		if (harness) logger.info('client connected', {environment: environmentId, token: tokenId, address});
		else socket.close(TRY_AGAIN_LATER);
	}
}

/** Answers an upgrade with a status, and with the reason where upstream looks for it. */
export function refuseUpgrade(socket: Duplex, status: number, reason: string): void {
	const lines = [
		`HTTP/1.1 ${status} ${status === 503 ? 'Service Unavailable' : 'Refused'}`,
		`x-codex-rendezvous-rejection-reason: ${reason}`,
		'connection: close',
		'content-length: 0',
	];
	socket.on('error', () => {});
	socket.end(`${lines.join('\r\n')}\r\n\r\n`);
}
