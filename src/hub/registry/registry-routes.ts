import type {IncomingMessage, ServerResponse} from 'node:http';
import {EXTENSION, readOffer} from '../../protocol/relay/executor-offer.js';
import {POOL_EMPTY_CODE, POOL_FULL_CODE} from '../../protocol/relay/placement.js';
import {formatPoolSelector, type PoolSelector, parsePoolSelector} from '../../protocol/relay/pool-selector.js';
import {decodeRelayKey, type RelayKey, SECURITY_PROFILE} from '../../protocol/relay/relay-keys.js';
import {errorMessage} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {ENVIRONMENT_ID} from '../../transports/node/relay/registry-client.js';
import {addressOfPeer, type HubAccess} from '../access/hub-access.js';
import {HubRefusal, readJsonBody, sendJson} from '../http-exchange.js';
import type {PoolPlacer} from '../pools/pool-placer.js';
import type {EnvironmentPlace, HubTokenKind, TokenRecord} from '../store/hub-records.js';
import {type ConnectOutcome, fingerprintOfKey, type RegistryService} from './registry-service.js';
import type {TicketRequest} from './tickets.js';

const ROUTE = /^\/cloud\/environment\/([^/]+)\/(register|connect|validate)$/;
/** Longest authorization that a stock executor takes. */
const MAX_AUTHORIZATION_BYTES = 4096;

type Action = 'register' | 'connect' | 'validate';
const CALLERS: Readonly<Record<Action, HubTokenKind>> = {register: 'executor', validate: 'executor', connect: 'client'};

export interface RegistryRoutesOptions {
	readonly service: RegistryService;
	readonly placer: PoolPlacer;
	readonly access: HubAccess;
	/** The hub is about to end: clients are told to come back later, executors are not, which would end stock ones. */
	readonly isDraining: () => boolean;
	readonly signTicket: (given: TicketRequest) => string;
	/** Origin that clients reach this hub by, such as `wss://hub.example`. */
	readonly socketOrigin: (request: IncomingMessage) => string;
	/** An executor with another key has registered: the former one has to go. */
	readonly onReplaced: (place: EnvironmentPlace, registrationId: string) => void;
	readonly logger: Logger;
}

/** The HTTP API of executors and clients. */
export class RegistryRoutes {
	readonly #options: RegistryRoutesOptions;

	constructor(options: RegistryRoutesOptions) {
		this.#options = options;
	}

	/** False for a path that is none of its own. Throws a `HubRefusal`. */
	async handle(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean> {
		const [, id, name] = ROUTE.exec(path) ?? [];
		if (id === undefined) return false;
		const action = name as Action;
		if (request.method !== 'POST') throw new HubRefusal(405, 'bad_request', 'only POST is answered here');
		const selector = action === 'connect' ? parsePoolSelector(decodeSegment(id)) : undefined;
		if (!selector && !ENVIRONMENT_ID.test(id)) {
			throw new HubRefusal(400, 'bad_request', 'an environment id has up to 64 letters, digits, _ and -');
		}
		// Which environments of a selector the token covers is looked at one by one.
		const token = await this.#options.access.requireToken(request, CALLERS[action], selector ? undefined : id);
		const body = await readJsonBody(request);
		const call = {request, body, token};
		sendJson(response, 200, await (selector ? this.#connectToPool(selector, call) : this.#answer(action, id, call)));
		return true;
	}

	async #answer(action: Action, id: string, call: RegistryCall): Promise<object> {
		if (action === 'register') return this.#register(id, call);
		if (action === 'connect') return this.#connect(id, call);
		return this.#validate({tenant: call.token.tenant, environmentId: id}, call.body);
	}

	async #register(id: string, {request, body, token}: RegistryCall): Promise<object> {
		if (body['security_profile'] !== SECURITY_PROFILE) {
			throw new HubRefusal(400, 'bad_request', `the security profile has to be ${SECURITY_PROFILE}`);
		}
		const key = readKey(body['executor_public_key']);
		const {service, logger, onReplaced} = this.#options;
		const place = {tenant: token.tenant, environmentId: id};
		const offer = readOffer(body);
		if (!(await service.admitEnvironment({...place, key, ...offer}, token.id))) {
			throw new HubRefusal(429, 'too_many_environments', 'there are too many environments, of this token or in all');
		}
		const outcome = await service.register(place, key, {...offer, tokenId: token.id});
		if (outcome.kind === 'conflict') {
			throw new HubRefusal(409, 'registration_conflict', 'another executor has taken the place of this one');
		}
		const {registrationId} = outcome.registration;
		if (outcome.replaced !== undefined) onReplaced(place, outcome.replaced);
		logger.info('executor registered', {
			environment: id,
			token: token.id,
			key: fingerprintOfKey(key),
			address: addressOfPeer(request),
		});
		return {
			...this.#place({role: 'environment', ...place, registrationId, tokenId: token.id}, request),
			...(offer && {[EXTENSION]: {takes_load: true}}),
		};
	}

	async #connect(id: string, call: RegistryCall): Promise<object> {
		const harnessKey = this.#readHarnessKey(call);
		const place = {tenant: call.token.tenant, environmentId: id};
		const outcome = await this.#options.service.connect(place, harnessKey, {tokenId: call.token.id});
		if (outcome.kind === 'offline') {
			throw new HubRefusal(409, 'environment_offline', `no executor is connected for ${id}`);
		}
		return this.#letIn(outcome, harnessKey, call);
	}

	/** The key of a client that wants to connect; a hub that is about to end takes none. */
	#readHarnessKey({body}: RegistryCall): RelayKey {
		if (this.#options.isDraining()) throw new HubRefusal(503, 'pod_draining', 'the hub is about to end, try again');
		return readKey(body['harness_public_key']);
	}

	/** The hub chooses the executor, and the answer names it. */
	async #connectToPool(selector: PoolSelector, call: RegistryCall): Promise<object> {
		const harnessKey = this.#readHarnessKey(call);
		const outcome = await this.#options.placer.place(selector, call.token, harnessKey);
		const name = formatPoolSelector(selector);
		if (outcome.kind === 'full') throw new HubRefusal(503, POOL_FULL_CODE, `every executor of ${name} is full`);
		if (outcome.kind === 'empty') {
			throw new HubRefusal(409, POOL_EMPTY_CODE, `no executor of ${name} is connected that this token is good for`);
		}
		return this.#letIn(outcome, harnessKey, call, name);
	}

	/** `pool` is the selector of a client that was placed. */
	#letIn(
		{registration, authorization}: Extract<ConnectOutcome, {kind: 'granted'}>,
		harnessKey: RelayKey,
		{request, token}: RegistryCall,
		pool?: string,
	): object {
		const {tenant, environmentId, registrationId} = registration;
		this.#options.logger.info('client let in', {
			environment: environmentId,
			...(pool !== undefined && {pool}),
			token: token.id,
			key: fingerprintOfKey(harnessKey),
			address: addressOfPeer(request),
		});
		return {
			...this.#place({role: 'harness', tenant, environmentId, registrationId, tokenId: token.id}, request),
			executor_public_key: registration.key,
			harness_key_authorization: authorization,
		};
	}

	async #validate(place: EnvironmentPlace, body: Record<string, unknown>): Promise<object> {
		const {executor_registration_id: registrationId, harness_key_authorization: authorization} = body;
		const isText = typeof registrationId === 'string' && typeof authorization === 'string';
		if (!isText || Buffer.byteLength(authorization) > MAX_AUTHORIZATION_BYTES) {
			throw new HubRefusal(400, 'bad_request', 'the registration id and the authorization are missing');
		}
		const harnessKey = readKey(body['harness_public_key']);
		const valid = await this.#options.service.validate(place, {registrationId, harnessKey, authorization});
		if (!valid)
			this.#options.logger.warn('a client without a valid authorization was refused', {
				environment: place.environmentId,
			});
		return {valid};
	}

	#place(given: TicketRequest, request: IncomingMessage): object {
		return {
			environment_id: given.environmentId,
			url: `${this.#options.socketOrigin(request)}/relay?${this.#options.signTicket(given)}`,
			security_profile: SECURITY_PROFILE,
			executor_registration_id: given.registrationId,
		};
	}
}

/** One request that is allowed. */
interface RegistryCall {
	readonly request: IncomingMessage;
	readonly body: Record<string, unknown>;
	readonly token: TokenRecord;
}

/** A selector is encoded as one segment; an id is not, by stock executors. */
function decodeSegment(segment: string): string {
	try {
		return decodeURIComponent(segment);
	} catch {
		return segment;
	}
}

function readKey(key: unknown): RelayKey {
	try {
		decodeRelayKey(key);
		return key as RelayKey;
	} catch (error) {
		throw new HubRefusal(400, 'bad_request', errorMessage(error));
	}
}
