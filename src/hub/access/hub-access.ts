import type {IncomingMessage} from 'node:http';
import type {Logger} from '../../shared/logger.js';
import {isLoopback} from '../../transports/node/loopback.js';
import {bearerOf, HubRefusal} from '../http-exchange.js';
import type {HubTokenKind, TokenRecord} from '../store/hub-records.js';
import type {TokenStore} from '../store/hub-store.js';
import {coversEnvironment} from '../store/hub-tokens.js';
import type {HubConnections} from './hub-connections.js';
import {RateLimit, type RequestRate} from './rate-limit.js';

/**
 * Requests of one token of clients. Generous: 28 clients that try to resume every 100 ms may do so
 * for 45 s.
 */
export const TOKEN_RATE: RequestRate = {burst: 4000, perSecond: 200};
/**
 * Requests of one token of executors. Our own executors register for every socket, and ten thousand machines may have one token:
 * all of them come back at once when the hub was restarted.
 */
export const EXECUTOR_TOKEN_RATE: RequestRate = {burst: 20_000, perSecond: 400};
/** Requests of one address, whatever their tokens; those of loopback come from a proxy for many others, and are not counted. */
export const ADDRESS_RATE: RequestRate = {burst: 8000, perSecond: 400};
/** Wrong tokens of one address; beyond it they are refused without an entry in the log. */
export const WRONG_TOKEN_RATE: RequestRate = {burst: 20, perSecond: 1};

export interface HubAccessOptions {
	readonly tokens: TokenStore;
	/** Told whose token a connection has shown. */
	readonly connections?: HubConnections | undefined;
	readonly logger: Logger;
	readonly rates?: Partial<Readonly<Record<'token' | 'address' | 'wrongToken', RequestRate>>> | undefined;
}

/** Decides whose requests are answered: by token, and by how many there were. */
export class HubAccess {
	readonly #options: HubAccessOptions;
	readonly #byToken: Readonly<Record<HubTokenKind, RateLimit>>;
	readonly #byAddress: RateLimit;
	readonly #wrong: RateLimit;

	constructor(options: HubAccessOptions) {
		this.#options = options;
		const {token, address = ADDRESS_RATE, wrongToken = WRONG_TOKEN_RATE} = options.rates ?? {};
		this.#byToken = {
			executor: new RateLimit(token ?? EXECUTOR_TOKEN_RATE),
			client: new RateLimit(token ?? TOKEN_RATE),
		};
		this.#byAddress = new RateLimit(address);
		this.#wrong = new RateLimit(wrongToken);
	}

	/** The token of a request, if it is good for this kind of caller and environment; throws a `HubRefusal`. */
	async requireToken(request: IncomingMessage, kind: HubTokenKind, environmentId?: string): Promise<TokenRecord> {
		const address = addressOfPeer(request);
		const token = await this.#options.tokens.find(bearerOf(request), kind);
		if (!token) throw this.#refuseStranger(address, kind, environmentId);
		if (!this.#byToken[kind].take(token.id) || !(isProxied(address) || this.#byAddress.take(address))) {
			throw new HubRefusal(429, 'too_many_requests', 'too many requests, try again later');
		}
		if (this.#options.connections?.admit(request.socket, token.id, kind) === false) {
			throw new HubRefusal(503, 'unavailable', 'this token has too many connections');
		}
		if (environmentId === undefined || coversEnvironment(token, environmentId)) return token;
		this.#options.logger.warn('refused', {reason: 'forbidden', environment: environmentId, token: token.id, address});
		throw new HubRefusal(403, 'forbidden', `the token is not for the environment ${environmentId}`);
	}

	/** A good token is never refused for wrong ones that came from its address. */
	#refuseStranger(address: string, kind: HubTokenKind, environment: string | undefined): HubRefusal {
		if (!this.#wrong.take(address)) {
			return new HubRefusal(429, 'too_many_requests', 'too many wrong tokens from this address');
		}
		this.#options.logger.warn('refused', {reason: 'unauthorized', kind, address, ...(environment && {environment})});
		return new HubRefusal(401, 'unauthorized', 'the token is missing, unknown or of another kind');
	}
}

/** Address of the machine at the other end of a request, which may be a proxy. */
export function addressOfPeer({socket}: IncomingMessage): string {
	return socket.remoteAddress ?? 'unknown';
}

function isProxied(address: string): boolean {
	return isLoopback(address.replace(/^::ffff:/, ''));
}
