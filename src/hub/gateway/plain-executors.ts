import type {WebSocket} from 'ws';
import type {Logger} from '../../shared/logger.js';
import type {Ticket} from '../registry/tickets.js';
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
	readonly tokenId: string;
	readonly end: GatewayEnd;
	/** The one client it serves; it gets a new socket for the next. */
	client: GatewayEnd | undefined;
}

/** Executors that speak neither relay nor Noise, for the gateway. */
export class PlainExecutors {
	readonly #logger: Logger;
	readonly #byEnvironment = new Map<string, PlainExecutor>();

	constructor(logger: Logger) {
		this.#logger = logger;
	}

	/** One that waits for a client. */
	findFree(environmentId: string): PlainExecutor | undefined {
		const executor = this.#byEnvironment.get(environmentId);
		return executor && !executor.client ? executor : undefined;
	}

	/** A new socket takes the place of the former one. */
	add(webSocket: WebSocket, {environmentId, tokenId}: Ticket, address: string): void {
		const former = this.#byEnvironment.get(environmentId);
		if (!former && this.#byEnvironment.size >= MAX_PLAIN_EXECUTORS) return webSocket.close(TRY_AGAIN_LATER);
		if (former) this.#remove(environmentId, former);
		const end = openGatewaySocket(webSocket, {
			message: bytes => this.#passOn(executor, bytes),
			drained: () => executor.client?.resume(),
			closed: () => {
				this.#remove(environmentId, executor);
				this.#logger.info('executor offline', {environment: environmentId, token: tokenId});
			},
		});
		const executor: PlainExecutor = {tokenId, end, client: undefined};
		this.#byEnvironment.set(environmentId, executor);
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
		for (const [id, executor] of this.#byEnvironment) this.#remove(id, executor);
	}

	#passOn({end, client}: PlainExecutor, message: Uint8Array): void {
		// A server says nothing before a client has begun.
		if (!client) return end.close(POLICY_VIOLATION);
		client.send(message);
		if (client.backlog > MAX_PLAIN_BACKLOG_BYTES) end.pause();
	}

	#remove(environmentId: string, executor: PlainExecutor): void {
		if (this.#byEnvironment.get(environmentId) === executor) this.#byEnvironment.delete(environmentId);
		executor.end.close();
		executor.client?.close();
	}
}
