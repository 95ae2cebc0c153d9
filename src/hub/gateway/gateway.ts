import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Duplex} from 'node:stream';
import {type WebSocket, WebSocketServer} from 'ws';
import {MAX_MESSAGE_BYTES} from '../../protocol/wire/message-limits.js';
import {findSurplus} from '../../shared/fair-share.js';
import type {Logger} from '../../shared/logger.js';
import type {NoiseKeys} from '../../shared/noise/hybrid-ik.js';
import {randomHex} from '../../shared/random-id.js';
import {completeUpgrade} from '../../transports/node/complete-upgrade.js';
import {ENVIRONMENT_ID} from '../../transports/node/relay/registry-client.js';
import {addressOfPeer, type HubAccess} from '../access/hub-access.js';
import type {HubCluster} from '../cluster/hub-cluster.js';
import {HubRefusal, readJsonBody, sendJson} from '../http-exchange.js';
import type {RegistryService} from '../registry/registry-service.js';
import type {TicketRequest} from '../registry/tickets.js';
import {type EnvironmentPlace, type TokenRecord} from '../store/hub-records.js';
import {type GatewayHarness, openGatewayHarness} from './gateway-harness.js';
import {type GatewayEnd, openGatewaySocket} from './gateway-socket.js';
import {PlainExecutors} from './plain-executors.js';

/** Clients of the gateway at once; each may hold a message of `MAX_MESSAGE_BYTES`. */
export const MAX_GATEWAY_CLIENTS = 256;
const CLIENT_PATH = /^\/environments\/([^/]+)$/;
const PLAIN_REGISTER_PATH = /^\/cloud\/executor\/([^/]+)\/register$/;
const REGISTRATION_ID_BYTES = 16;
const POLICY_VIOLATION = 1008;

export interface GatewayOptions {
	readonly cluster: HubCluster;
	readonly service: RegistryService;
	readonly access: HubAccess;
	readonly signTicket: (given: TicketRequest) => string;
	readonly socketOrigin: (request: IncomingMessage) => string;
	/** Clients at once; `MAX_GATEWAY_CLIENTS` by default. */
	readonly maxClients?: number | undefined;
	/** The key by which executors know this gateway. */
	readonly keys: NoiseKeys;
	/** An executor of upstream's first versions came or went. */
	readonly changed: (place: EnvironmentPlace, isOnline: boolean) => void;
	readonly logger: Logger;
}

interface ClientPlace {
	readonly tokenId: string;
	readonly socket: Duplex;
}

interface PreparedJoin {
	readonly join: (webSocket: WebSocket) => void;
	readonly withdraw: () => void;
}

/** Plain WebSockets for clients that know no registry, and executors of upstream's first versions. The hub sees what they say. */
export class Gateway {
	readonly plainExecutors: PlainExecutors;
	readonly #options: GatewayOptions;
	readonly #server = new WebSocketServer({
		noServer: true,
		perMessageDeflate: false,
		clientTracking: false,
		autoPong: false,
		maxPayload: MAX_MESSAGE_BYTES,
	});
	/** Open sockets of clients, with the ids of their tokens. */
	readonly #clients = new Map<GatewayEnd, string>();
	/** Sockets of clients, including those that are being let in, oldest first. */
	readonly #places = new Set<ClientPlace>();

	constructor(options: GatewayOptions) {
		this.#options = options;
		this.plainExecutors = new PlainExecutors(options.logger, options.changed);
	}

	/** `POST /cloud/executor/ID/register`, upstream's first way; false for any other path. Throws a `HubRefusal`. */
	async handle(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean> {
		const id = PLAIN_REGISTER_PATH.exec(path)?.[1];
		if (id === undefined) return false;
		if (request.method !== 'POST') throw new HubRefusal(405, 'bad_request', 'only POST is answered here');
		requireId(id);
		const {access, logger, socketOrigin, signTicket} = this.#options;
		const token = await access.requireToken(request, 'executor', id);
		const body = await readJsonBody(request);
		// Versions that came later ask with an empty body, and speak the relay's frames without a cipher.
		if (body['executor_id'] !== id) {
			throw new HubRefusal(400, 'bad_request', 'this version of the executor is not served; take a newer one');
		}
		const registrationId = randomHex(REGISTRATION_ID_BYTES);
		const ticket = signTicket({
			role: 'plain',
			tenant: token.tenant,
			environmentId: id,
			registrationId,
			tokenId: token.id,
		});
		logger.info('executor registered', {
			environment: id,
			token: token.id,
			isPlain: true,
			address: addressOfPeer(request),
		});
		sendJson(response, 200, {id: registrationId, executor_id: id, url: `${socketOrigin(request)}/relay?${ticket}`});
		return true;
	}

	/** A client's socket; false for any other path. Throws a `HubRefusal`. */
	async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, path: string): Promise<boolean> {
		const id = CLIENT_PATH.exec(path)?.[1];
		if (id === undefined) return false;
		requireId(id);
		const token = await this.#options.access.requireToken(request, 'client', id);
		// The client may have hung up while its token was looked up: no event follows.
		if (socket.destroyed) return true;
		this.#takePlace({tokenId: token.id, socket});
		const {join, withdraw} = await this.#findExecutor(id, token);
		this.#options.logger.info('client let in', {
			environment: id,
			token: token.id,
			isGateway: true,
			address: addressOfPeer(request),
		});
		completeUpgrade(this.#server, {request, socket, head}, join, withdraw);
		return true;
	}

	disconnectRevoked(isGood: (tokenId: string) => boolean): void {
		this.plainExecutors.disconnectRevoked(isGood);
		for (const [client, tokenId] of this.#clients) if (!isGood(tokenId)) client.close(POLICY_VIOLATION);
	}

	close(): void {
		this.plainExecutors.close();
		for (const client of this.#clients.keys()) client.close();
	}

	/** Tokens that have more clients make room for others. Throws a `HubRefusal` if there is none. */
	#takePlace(place: ClientPlace): void {
		if (this.#places.size >= (this.#options.maxClients ?? MAX_GATEWAY_CLIENTS)) {
			const surplus = findSurplus(this.#places, ({tokenId}) => tokenId, place.tokenId);
			if (!surplus) throw new HubRefusal(503, 'route_unavailable', 'too many clients');
			this.#places.delete(surplus);
			surplus.socket.destroy();
		}
		this.#places.add(place);
		place.socket.once('close', () => this.#places.delete(place));
	}

	/** How to join the client's socket to its executor, and how to release the executor if the socket never comes. */
	async #findExecutor(id: string, token: TokenRecord): Promise<PreparedJoin> {
		const {cluster, service, keys} = this.#options;
		const place = {tenant: token.tenant, environmentId: id};
		const harness = await openGatewayHarness({cluster, service, keys, place, tokenId: token.id});
		if (harness) {
			return {join: webSocket => this.#joinHarness(webSocket, harness, token), withdraw: () => harness.close()};
		}
		const isFree = this.plainExecutors.findFree(place) !== undefined;
		if (!isFree) throw new HubRefusal(503, 'route_unavailable', `no executor is free for ${id}`);
		return {join: webSocket => this.#joinPlain(webSocket, place, token), withdraw: () => {}};
	}

	#joinHarness(webSocket: WebSocket, harness: GatewayHarness, token: TokenRecord): void {
		const client = openGatewaySocket(webSocket, {
			message: bytes => harness.receive(bytes),
			drained: () => harness.clientDrained(),
			closed: () => {
				this.#clients.delete(client);
				harness.close();
			},
		});
		this.#clients.set(client, token.id);
		harness.join(client);
	}

	#joinPlain(webSocket: WebSocket, place: EnvironmentPlace, token: TokenRecord): void {
		// Another client may have been faster.
		const executor = this.plainExecutors.findFree(place);
		if (!executor) return webSocket.terminate();
		const client = openGatewaySocket(webSocket, {
			message: bytes => this.plainExecutors.receive(executor, bytes),
			drained: () => executor.end.resume(),
			closed: () => {
				this.#clients.delete(client);
				executor.end.close();
			},
		});
		this.#clients.set(client, token.id);
		executor.client = client;
	}
}

function requireId(id: string): void {
	if (!ENVIRONMENT_ID.test(id)) {
		throw new HubRefusal(400, 'bad_request', 'an environment id has up to 64 letters, digits, _ and -');
	}
}
