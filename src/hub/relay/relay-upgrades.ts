import {type IncomingMessage, STATUS_CODES} from 'node:http';
import type {Duplex} from 'node:stream';
import {type WebSocket, WebSocketServer} from 'ws';
import {MAX_RELAY_MESSAGE_BYTES} from '../../protocol/relay/relay-frame.js';
import type {Logger} from '../../shared/logger.js';
import {completeUpgrade, endUpgrade} from '../../transports/node/complete-upgrade.js';
import {PeerMonitor} from '../../transports/node/peer-monitor.js';
import type {PeerTimes} from '../../transports/node/peer-times.js';
import {RendezvousSocket} from '../../transports/node/relay/rendezvous-socket.js';
import {addressOfPeer} from '../access/hub-access.js';
import type {HarnessRoute, HubCluster} from '../cluster/hub-cluster.js';
import type {PlainExecutors} from '../gateway/plain-executors.js';
import type {HubMetrics} from '../hub-metrics.js';
import type {RegistryService} from '../registry/registry-service.js';
import {readTicket, type Ticket} from '../registry/tickets.js';
import type {GrantStore} from '../store/hub-store.js';
import type {Relay} from './relay.js';

/** A dead executor must be known before its clients stop trying to resume: after 25 s up to codex 0.168, 45 s since 0.169. */
export const HUB_PEER_TIMES: PeerTimes = {pingIntervalMs: 10_000, peerTimeoutMs: 20_000, stoppedPeerMs: 0};
/** Close code of WebSocket. */
const TRY_AGAIN_LATER = 1013;

export interface RelayUpgradesOptions {
	readonly relay: Relay;
	readonly cluster: HubCluster;
	/** Remembers which tickets were used. */
	readonly grants: GrantStore;
	readonly service: RegistryService;
	readonly ticketSecret: Uint8Array;
	readonly isGoodToken: (id: string) => boolean;
	/** Takes sockets of executors of the first versions; there are none without a gateway. */
	readonly plainExecutors?: PlainExecutors | undefined;
	readonly peerTimes?: PeerTimes | undefined;
	readonly metrics: HubMetrics;
	readonly logger: Logger;
}

/** A socket that may come in. */
interface Entry {
	readonly ticket: Ticket;
	/** Way of a client to its executor. */
	readonly route?: HarnessRoute;
	/** Takes back what was prepared for a socket that does not come. */
	readonly withdraw: () => void;
}

interface Refusal {
	readonly status: number;
	readonly reason: string;
}

const USED: Refusal = {status: 401, reason: 'expired'};
const nothing = (): void => {};

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

	constructor(options: RelayUpgradesOptions) {
		this.#options = options;
		this.#monitor = new PeerMonitor(options.peerTimes ?? HUB_PEER_TIMES);
	}

	async handle(request: IncomingMessage, socket: Duplex, head: Buffer, query: URLSearchParams): Promise<void> {
		const entry = await this.#check(query);
		if ('reason' in entry) {
			const {logger, metrics} = this.#options;
			logger.info('a socket was not let in', {reason: entry.reason, address: addressOfPeer(request)});
			metrics.recordRefusal(entry.reason);
			refuseUpgrade(socket, entry.status, entry.reason);
			return;
		}
		const {ticket, withdraw} = entry;
		const join = (webSocket: WebSocket): void => {
			this.#options.metrics.recordSocket(ticket.role);
			this.#join(webSocket, entry, addressOfPeer(request));
		};
		completeUpgrade(this.#server, {request, socket, head}, join, withdraw);
	}

	/** The ticket, or why it is refused. A stock executor whose ticket is refused registers again, and ends if that fails: in doubt it is 503. */
	async #check(query: URLSearchParams): Promise<Entry | Refusal> {
		const {ticketSecret, isGoodToken, service, cluster} = this.#options;
		const ticket = readTicket(ticketSecret, query);
		if (typeof ticket === 'string') return {status: 401, reason: ticket};
		const {role, registrationId, tokenId, nonce} = ticket;
		if (!isGoodToken(tokenId)) return {status: 401, reason: 'expired'};
		if (role === 'plain') return (await this.#use(nonce)) ? {ticket, withdraw: nothing} : USED;
		if (!(await service.isCurrent(ticket, registrationId))) {
			return {status: 409, reason: 'unexpected_executor_registration_id'};
		}
		if (role === 'environment') {
			return (await this.#use(nonce)) ? {ticket, withdraw: await cluster.announce(ticket)} : USED;
		}
		const route = await cluster.openRoute(ticket);
		if (!route) return {status: 503, reason: 'route_unavailable'};
		const withdraw = (): void => route.close();
		if (await this.#use(nonce)) return {ticket, route, withdraw};
		withdraw();
		return USED;
	}

	/** False for a ticket that was used before, at any node. */
	#use(nonce: string): Promise<boolean> {
		return this.#options.grants.claim(nonce);
	}

	#join(webSocket: WebSocket, {ticket, route}: Entry, address: string): void {
		if (ticket.role === 'environment') this.#joinExecutor(webSocket, ticket, address);
		else if (route) this.#joinHarness(webSocket, ticket, route, address);
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
				text: text => relay.receiveText(executor, text),
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

	#joinHarness(webSocket: WebSocket, ticket: Ticket, route: HarnessRoute, address: string): void {
		const {environmentId, tokenId} = ticket;
		const {logger} = this.#options;
		const socket = new RendezvousSocket(
			webSocket,
			`client of ${environmentId}`,
			{
				message: bytes => route.receive(bytes),
				text: () => socket.destroy(),
				drained: () => route.drained(),
				closed: () => {
					route.close();
					logger.info('client left', {environment: environmentId, token: tokenId});
				},
			},
			this.#monitor,
		);
		if (route.attach(socket)) logger.info('client connected', {environment: environmentId, token: tokenId, address});
		else socket.close(TRY_AGAIN_LATER);
	}
}

/** Answers an upgrade with a status, and with the reason where upstream looks for it. */
export function refuseUpgrade(socket: Duplex, status: number, reason: string): void {
	const lines = [
		`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}`,
		`x-codex-rendezvous-rejection-reason: ${reason}`,
		'connection: close',
		'content-length: 0',
	];
	endUpgrade(socket, `${lines.join('\r\n')}\r\n\r\n`);
}
