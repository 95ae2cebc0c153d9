import type {IncomingMessage, ServerResponse} from 'node:http';
import {decodeRelayKey, type RelayKey, SECURITY_PROFILE} from '../../protocol/relay/relay-keys.js';
import {errorMessage} from '../../shared/errors.js';
import type {Logger} from '../../shared/logger.js';
import {ENVIRONMENT_ID} from '../../transports/node/relay/registry-client.js';
import {addressOfPeer, type HubAccess} from '../access/hub-access.js';
import {HubRefusal, readJsonBody, sendJson} from '../http-exchange.js';
import type {HubTokenKind, TokenRecord} from '../store/hub-records.js';
import {fingerprintOfKey, type RegistryService} from './registry-service.js';
import {signTicket} from './tickets.js';

const ROUTE = /^\/cloud\/environment\/([^/]+)\/(register|connect|validate)$/;
/** Longest authorization that a stock executor takes. */
const MAX_AUTHORIZATION_BYTES = 4096;

type Action = 'register' | 'connect' | 'validate';
const CALLERS: Readonly<Record<Action, HubTokenKind>> = {register: 'executor', validate: 'executor', connect: 'client'};

export interface RegistryRoutesOptions {
	readonly service: RegistryService;
	readonly access: HubAccess;
	/** The hub is about to end: clients are told to come back later, executors are not, which would end stock ones. */
	readonly isDraining: () => boolean;
	readonly ticketSecret: Uint8Array;
	/** Origin that clients reach this hub by, such as `wss://hub.example`. */
	readonly socketOrigin: (request: IncomingMessage) => string;
	/** An executor with another key has registered: the former one has to go. */
	readonly onReplaced: (environmentId: string) => void;
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
		if (!ENVIRONMENT_ID.test(id)) {
			throw new HubRefusal(400, 'bad_request', 'an environment id has up to 64 letters, digits, _ and -');
		}
		const token = this.#options.access.requireToken(request, CALLERS[action], id);
		const body = await readJsonBody(request);
		sendJson(response, 200, await this.#answer(action, id, {request, body, token}));
		return true;
	}

	async #answer(
		action: Action,
		id: string,
		{request, body, token}: {request: IncomingMessage; body: Record<string, unknown>; token: TokenRecord},
	): Promise<object> {
		if (action === 'register') return this.#register(id, body, request, token);
		if (action === 'connect') return this.#connect(id, body, request, token);
		return this.#validate(id, body);
	}

	async #register(
		id: string,
		body: Record<string, unknown>,
		request: IncomingMessage,
		token: TokenRecord,
	): Promise<object> {
		if (body['security_profile'] !== SECURITY_PROFILE) {
			throw new HubRefusal(400, 'bad_request', `the security profile has to be ${SECURITY_PROFILE}`);
		}
		const key = readKey(body['executor_public_key']);
		const {service, logger, onReplaced} = this.#options;
		const outcome = await service.register(id, key);
		if (outcome.kind === 'conflict') {
			throw new HubRefusal(409, 'registration_conflict', 'another executor has taken the place of this one');
		}
		const {registrationId} = outcome.registration;
		if (outcome.replaced !== undefined) onReplaced(id);
		logger.info('executor registered', {
			environment: id,
			token: token.id,
			key: fingerprintOfKey(key),
			address: addressOfPeer(request),
		});
		return this.#place({role: 'environment', environmentId: id, registrationId, tokenId: token.id}, request);
	}

	async #connect(
		id: string,
		body: Record<string, unknown>,
		request: IncomingMessage,
		token: TokenRecord,
	): Promise<object> {
		if (this.#options.isDraining()) throw new HubRefusal(503, 'pod_draining', 'the hub is about to end, try again');
		const harnessKey = readKey(body['harness_public_key']);
		const outcome = await this.#options.service.connect(id, harnessKey);
		if (outcome.kind === 'offline') {
			throw new HubRefusal(409, 'environment_offline', `no executor is connected for ${id}`);
		}
		const {registration, authorization} = outcome;
		this.#options.logger.info('client let in', {
			environment: id,
			token: token.id,
			key: fingerprintOfKey(harnessKey),
			address: addressOfPeer(request),
		});
		return {
			...this.#place(
				{role: 'harness', environmentId: id, registrationId: registration.registrationId, tokenId: token.id},
				request,
			),
			executor_public_key: registration.key,
			harness_key_authorization: authorization,
		};
	}

	async #validate(id: string, body: Record<string, unknown>): Promise<object> {
		const {executor_registration_id: registrationId, harness_key_authorization: authorization} = body;
		const isText = typeof registrationId === 'string' && typeof authorization === 'string';
		if (!isText || Buffer.byteLength(authorization) > MAX_AUTHORIZATION_BYTES) {
			throw new HubRefusal(400, 'bad_request', 'the registration id and the authorization are missing');
		}
		const harnessKey = readKey(body['harness_public_key']);
		const valid = await this.#options.service.validate(id, {registrationId, harnessKey, authorization});
		if (!valid) this.#options.logger.warn('a client without a valid authorization was refused', {environment: id});
		return {valid};
	}

	#place(given: Parameters<typeof signTicket>[1], request: IncomingMessage): object {
		return {
			environment_id: given.environmentId,
			url: `${this.#options.socketOrigin(request)}/relay?${signTicket(this.#options.ticketSecret, given)}`,
			security_profile: SECURITY_PROFILE,
			executor_registration_id: given.registrationId,
		};
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
