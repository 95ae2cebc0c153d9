import type {WebSocket} from 'ws';
import {findSurplus} from '../../shared/fair-share.js';
import type {Logger} from '../../shared/logger.js';
import type {Ticket} from '../registry/tickets.js';
import {type EnvironmentPlace, keyOfPlace} from '../store/hub-records.js';
import {type GatewayEnd, openGatewaySocket} from './gateway-socket.js';

/** Bytes that wait for either end of a plain connection; beyond them the other is not read. */
const MAX_PLAIN_BACKLOG_BYTES = 1024 * 1024;
/** Executors of this kind at once. */
export const MAX_PLAIN_EXECUTORS = 1000;
/** Close codes of WebSocket. */
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

/** An executor of upstream's first versions: a server of plain JSON-RPC on a socket it has opened itself. */
export interface PlainExecutor {
	readonly place: EnvironmentPlace;
	readonly tokenId: string;
	/** Monotonic. */
	readonly since: number;
	readonly end: GatewayEnd;
	/** The one client it serves; it gets a new socket for the next. */
	client: GatewayEnd | undefined;
}

/** Executors that speak neither relay nor Noise, for the gateway. */
export class PlainExecutors {
	readonly #logger: Logger;
	readonly #changed: (place: EnvironmentPlace, isOnline: boolean) => void;
	readonly #byEnvironment = new Map<string, PlainExecutor>();

	constructor(logger: Logger, changed: (place: EnvironmentPlace, isOnline: boolean) => void) {
		this.#logger = logger;
		this.#changed = changed;
	}

	/** All that are connected, of one tenant or of all of them. */
	list(tenant?: string): PlainExecutor[] {
		const all = [...this.#byEnvironment.values()];
		return tenant === undefined ? all : all.filter(({place}) => place.tenant === tenant);
	}

	/** One that waits for a client. */
	findFree(place: EnvironmentPlace): PlainExecutor | undefined {
		const executor = this.#byEnvironment.get(keyOfPlace(place));
		return executor && !executor.client ? executor : undefined;
	}

	/** A new socket takes the place of the former one. */
	add(webSocket: WebSocket, ticket: Ticket, address: string): void {
		const {tenant, environmentId, tokenId} = ticket;
		const key = keyOfPlace(ticket);
		const former = this.#byEnvironment.get(key);
		if (!former && !this.#hasRoom(tokenId)) return webSocket.close(TRY_AGAIN_LATER);
		if (former) this.#remove(key, former);
		const end = openGatewaySocket(webSocket, {
			message: bytes => this.#passOn(executor, bytes),
			drained: () => executor.client?.resume(),
			closed: () => {
				this.#remove(key, executor);
				this.#logger.info('executor offline', {environment: environmentId, token: tokenId});
			},
		});
		const place = {tenant, environmentId};
		const executor: PlainExecutor = {place, tokenId, since: performance.now(), end, client: undefined};
		this.#byEnvironment.set(key, executor);
		this.#changed(place, true);
		this.#logger.info('executor online', {environment: environmentId, token: tokenId, address, isPlain: true});
	}

	/** A message of its client. */
	receive({end, client}: PlainExecutor, message: Uint8Array): void {
		end.send(message);
		if (end.backlog > MAX_PLAIN_BACKLOG_BYTES) client?.pause();
	}

	disconnectRevoked(isGood: (tokenId: string) => boolean): void {
		for (const {tokenId, end} of this.#byEnvironment.values()) if (!isGood(tokenId)) end.close(POLICY_VIOLATION);
	}

	close(): void {
		for (const [key, executor] of this.#byEnvironment) this.#remove(key, executor);
	}

	#passOn({end, client}: PlainExecutor, message: Uint8Array): void {
		// A server says nothing before a client has begun.
		if (!client) return end.close(POLICY_VIOLATION);
		client.send(message);
		if (client.backlog > MAX_PLAIN_BACKLOG_BYTES) end.pause();
	}

	/** Tokens that have more executors make room for others. */
	#hasRoom(tokenId: string): boolean {
		if (this.#byEnvironment.size < MAX_PLAIN_EXECUTORS) return true;
		const surplus = findSurplus(this.#byEnvironment, ([, executor]) => executor.tokenId, tokenId);
		if (surplus) this.#remove(...surplus);
		return surplus !== undefined;
	}

	#remove(key: string, executor: PlainExecutor): void {
		if (this.#byEnvironment.get(key) === executor) {
			this.#byEnvironment.delete(key);
			this.#changed(executor.place, false);
		}
		executor.end.close();
		executor.client?.close();
	}
}
