import {type IncomingMessage, STATUS_CODES} from 'node:http';
import type {Duplex} from 'node:stream';
import {type WebSocket, WebSocketServer} from 'ws';
import {MAX_RELAY_MESSAGE_BYTES} from '../../protocol/relay/relay-frame.js';
import {errorMessage} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {completeUpgrade, endUpgrade} from '../../transports/node/complete-upgrade.js';
import {PeerMonitor} from '../../transports/node/peer-monitor.js';
import type {PeerTimes} from '../../transports/node/peer-times.js';
import {RendezvousSocket} from '../../transports/node/relay/rendezvous-socket.js';
import {addressOfPeer} from '../access/hub-access.js';
import type {HubConnections} from '../access/hub-connections.js';
import type {HarnessRoute, HubCluster} from '../cluster/hub-cluster.js';
import type {PlainExecutors} from '../gateway/plain-executors.js';
import type {HubMetrics} from '../hub-metrics.js';
import type {RegistryService} from '../registry/registry-service.js';
import {isFreshTicket, readTicket, type Ticket} from '../registry/tickets.js';
import type {GrantStore} from '../store/hub-store.js';
import {type ExecutorProof, ExecutorProofs} from './executor-proofs.js';
import type {Relay} from './relay.js';
import type {ExecutorEnd} from './relay-ends.js';

/** A dead executor must be known before its clients stop trying to resume: after 25 s up to codex 0.168, 45 s since 0.169. */
export const HUB_PEER_TIMES: PeerTimes = {pingIntervalMs: 10_000, peerTimeoutMs: 20_000, stoppedPeerMs: 0};
/** Close code of WebSocket. */
const TRY_AGAIN_LATER = 1013;

export interface RelayUpgradesOptions {
	readonly relay: Relay;
	readonly cluster: HubCluster;
	/** Told whose ticket a connection has shown. */
	readonly connections: HubConnections;
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
	/** The ticket of an executor may be in the hands of others: its socket joins only after a proof of its key. */
	readonly needsProof?: boolean;
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
		autoPong: false,
		maxPayload: MAX_RELAY_MESSAGE_BYTES,
	});
	readonly #monitor: PeerMonitor;
	readonly #proofs: ExecutorProofs;

	constructor(options: RelayUpgradesOptions) {
		this.#options = options;
		this.#proofs = new ExecutorProofs(options.service);
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
		const kind = ticket.role === 'harness' ? 'client' : 'executor';
		if (!this.#options.connections.admit(request.socket, ticket.tokenId, kind)) {
			withdraw();
			return refuseUpgrade(socket, 503, 'route_unavailable');
		}
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
		const {role, registrationId, tokenId} = ticket;
		if (!isGoodToken(tokenId)) return {status: 401, reason: 'expired'};
		if (role === 'plain') return (await this.#isFirstUse(ticket)) ? {ticket, withdraw: nothing} : USED;
		if (!(await service.isCurrent(ticket, registrationId))) {
			return {status: 409, reason: 'unexpected_executor_registration_id'};
		}
		if (role === 'environment') {
			// Another use displaces nobody before the proof.
			const needsProof = !(await this.#isFirstUse(ticket));
			return {ticket, needsProof, withdraw: needsProof ? nothing : await cluster.announce(ticket)};
		}
		if (!this.#mayBeUnused(ticket)) return USED;
		const route = await cluster.openRoute(ticket);
		if (!route) return {status: 503, reason: 'route_unavailable'};
		const withdraw = (): void => route.close();
		if (await this.#isFirstUse(ticket)) return {ticket, route, withdraw};
		withdraw();
		return USED;
	}

	/** Closes sockets that have not joined yet. */
	close(): void {
		this.#proofs.close();
	}

	/** False for a ticket that was used before, at any node, or may have been. */
	async #isFirstUse(ticket: Ticket): Promise<boolean> {
		return this.#mayBeUnused(ticket) && this.#options.grants.claim(ticket.nonce, ticket.tokenId);
	}

	/** Whether a use of this ticket would be remembered: false for one that is old, or of an earlier run of a hub that is alone. */
	#mayBeUnused(ticket: Ticket): boolean {
		return isFreshTicket(ticket) && this.#options.grants.remembers(ticket.nonce);
	}

	#join(webSocket: WebSocket, {ticket, route, needsProof = false}: Entry, address: string): void {
		if (ticket.role === 'environment') this.#joinExecutor(webSocket, ticket, address, needsProof);
		else if (route) this.#joinHarness(webSocket, ticket, route, address);
		else if (this.#options.plainExecutors) this.#options.plainExecutors.add(webSocket, ticket, address);
		else webSocket.terminate();
	}

	#joinExecutor(webSocket: WebSocket, ticket: Ticket, address: string, needsProof: boolean): void {
		const {environmentId, tokenId: token} = ticket;
		const {relay, logger} = this.#options;
		let executor: ExecutorEnd | undefined;
		let proof: ExecutorProof | undefined;
		const socket = new RendezvousSocket(
			webSocket,
			`executor ${environmentId}`,
			{
				message: bytes => (executor ? relay.receiveFromExecutor(executor, bytes) : proof?.receive(bytes)),
				text: text => executor && relay.receiveText(executor, text),
				drained: () => executor && relay.executorDrained(executor),
				closed: error => {
					proof?.abandon();
					if (!executor) return;
					relay.removeExecutor(executor);
					logger.info('executor offline', {environment: environmentId, token, ...(error && {reason: error.message})});
				},
			},
			this.#monitor,
		);
		const join = (): void => {
			executor = relay.addExecutor(ticket, socket);
			logger.info('executor online', {environment: environmentId, token, address});
		};
		if (!needsProof) return join();
		proof = this.#proofs.begin({ticket, address, socket});
		void this.#joinAfterProof(proof, ticket, socket, join).catch((error: unknown) => {
			logger.info('a socket was not let in', {environment: environmentId, reason: errorMessage(error), address});
			socket.close(TRY_AGAIN_LATER);
		});
	}

	/** Rejects if the socket cannot join. */
	async #joinAfterProof(
		proof: ExecutorProof,
		ticket: Ticket,
		socket: RendezvousSocket,
		join: () => void,
	): Promise<void> {
		const {cluster, service, isGoodToken} = this.#options;
		if (!(await proof.succeeded)) throw new Error('the executor has not proved its key');
		const withdraw = await cluster.announce(ticket);
		// The proof takes time, in which another executor may have registered.
		const isCurrent = isGoodToken(ticket.tokenId) && (await service.isCurrent(ticket, ticket.registrationId));
		if (isCurrent && socket.isOpen) return join();
		withdraw();
		throw new Error('the registration no longer counts');
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
