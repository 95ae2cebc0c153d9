import * as v from 'valibot';
import {decodeRelayKey, type RelayKey, SECURITY_PROFILE} from '../../../protocol/relay/relay-keys.js';
import type {NoisePublicKeys} from '../../../shared/noise/hybrid-ik.js';
import type {TlsOptions} from '../tls-trust.js';
import {jsonError, RegistryAnswerError, RegistryConfigError} from './registry-errors.js';
import {askRegistry, type RegistryRequest} from './registry-request.js';

/** Time limits of upstream. */
export const REGISTER_TIMEOUT_MS = 10_000;
export const CONNECT_BUNDLE_TIMEOUT_MS = 6000;
export const VALIDATE_TIMEOUT_MS = 10_000;
/** Ids are part of a URL and not encoded as one segment by stock executors. */
export const ENVIRONMENT_ID = /^[A-Za-z0-9_-]{1,64}$/;

const registrationSchema = v.object({
	environment_id: v.string(),
	url: v.string(),
	security_profile: v.string(),
	executor_registration_id: v.string(),
});
const bundleSchema = v.object({
	...registrationSchema.entries,
	executor_public_key: v.unknown(),
	harness_key_authorization: v.string(),
});

export interface Registration {
	/** Ticket for the rendezvous socket. */
	readonly url: string;
	readonly registrationId: string;
}

/** Everything a client needs for one connection to an executor. */
export interface ConnectBundle extends Registration {
	readonly executorKey: NoisePublicKeys;
	readonly authorization: string;
}

export interface RegistryClientOptions {
	/** Base URL of the registry, `https:` or `http:`. */
	readonly url: string;
	readonly environmentId: string;
	/** Asked for each request, so that it can be renewed. */
	readonly token: () => string | undefined;
	readonly accountId?: string | undefined;
	readonly tls?: TlsOptions | undefined;
	/** Leaves bodies of refusals out of errors: with a credential of its own they could echo it. */
	readonly hidesBodies?: boolean | undefined;
}

/** HTTP requests to a registry, for executors and clients. Nothing is retried here. */
export class RegistryClient {
	readonly environmentId: string;
	readonly #options: RegistryClientOptions;
	readonly #base: URL;

	constructor(options: RegistryClientOptions) {
		this.#options = options;
		this.environmentId = options.environmentId.trim();
		this.#base = parseRegistryUrl(options.url);
		if (this.environmentId === '') {
			throw new RegistryConfigError('environment id is required for remote exec-server registration');
		}
	}

	/** Host and path, for logs. */
	get name(): string {
		return `${this.#base.host}${this.#base.pathname.replace(/\/+$/, '')}/${this.environmentId}`;
	}

	async register(key: RelayKey, signal?: AbortSignal): Promise<Registration> {
		const body = {security_profile: SECURITY_PROFILE, executor_public_key: key};
		const received = await this.#post('register', body, {timeoutMs: REGISTER_TIMEOUT_MS, signal});
		if (this.#options.hidesBodies) this.#requireNoEcho(received);
		const answer = decodeAnswer(registrationSchema, received);
		this.#requireSame(answer);
		return {url: answer.url, registrationId: answer.executor_registration_id};
	}

	async connect(key: RelayKey, signal?: AbortSignal): Promise<ConnectBundle> {
		const answer = decodeAnswer(
			bundleSchema,
			await this.#post('connect', {harness_public_key: key}, {timeoutMs: CONNECT_BUNDLE_TIMEOUT_MS, signal}),
		);
		this.#requireSame(answer);
		const {url, executor_registration_id: registrationId, harness_key_authorization: authorization} = answer;
		if ([url, registrationId, authorization].some(text => text.trim() === '')) {
			throw protocolError('environment registry returned incomplete Noise connection data');
		}
		return {url, registrationId, authorization, executorKey: decodeRelayKey(answer.executor_public_key)};
	}

	/** Whether a client may enter; an error is a no. */
	async validate(
		registrationId: string,
		client: {readonly key: RelayKey; readonly authorization: string; readonly streamId: string},
		signal?: AbortSignal,
	): Promise<boolean> {
		const body = {
			executor_registration_id: registrationId,
			harness_public_key: client.key,
			harness_key_authorization: client.authorization,
		};
		const headers = {'x-codex-noise-stream-id': client.streamId};
		const answer = await this.#post('validate', body, {
			timeoutMs: VALIDATE_TIMEOUT_MS,
			signal,
			headers,
			hidesBody: true,
		});
		return (answer as {valid?: unknown} | null)?.valid === true;
	}

	/** A token of its own must not travel on in a ticket. */
	#requireNoEcho(received: unknown): void {
		const token = this.#options.token();
		const isEchoed = token !== undefined && JSON.stringify(received)?.includes(token);
		const isWhole = v.safeParse(registrationSchema, received).success;
		if (isEchoed || !isWhole) throw protocolError('invalid environment registry executor registration response');
	}

	#requireSame({environment_id: id, security_profile: profile}: v.InferOutput<typeof registrationSchema>): void {
		if (id !== this.environmentId) throw protocolError('environment registry returned a different environment id');
		if (profile === SECURITY_PROFILE) return;
		throw protocolError(`environment registry returned unsupported security profile \`${profile}\``);
	}

	async #post(action: string, body: object, options: Omit<RegistryRequest, 'method'>): Promise<unknown> {
		const {accountId, hidesBodies = false} = this.#options;
		const url = new URL(this.#base);
		url.pathname = `${url.pathname.replace(/\/+$/, '')}/cloud/environment/${this.environmentId}/${action}`;
		const headers = {
			'content-type': 'application/json',
			accept: '*/*',
			...(accountId !== undefined && {'chatgpt-account-id': accountId}),
			...options.headers,
		};
		const hidesBody = hidesBodies || options.hidesBody === true;
		const sent = {...options, method: 'POST', body: JSON.stringify(body), headers, hidesBody};
		return askRegistry(url, sent, this.#options);
	}
}

/** Throws with upstream's words for a URL that cannot be meant. */
export function parseRegistryUrl(text: string): URL {
	const trimmed = text.trim().replace(/\/+$/, '');
	if (trimmed === '') throw new RegistryConfigError('environment registry base URL is required');
	const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined;
	if (url?.protocol === 'https:' || url?.protocol === 'http:') return url;
	throw new RegistryConfigError(`\`${trimmed}\` is not an http or https URL`);
}

function decodeAnswer<S extends v.GenericSchema>(schema: S, answer: unknown): v.InferOutput<S> {
	const {success, output, issues} = v.safeParse(schema, answer);
	if (success) return output;
	const name = v.getDotPath(issues[0]);
	throw jsonError(issues[0].received === 'undefined' ? `missing field \`${name}\`` : `invalid field \`${name}\``);
}

function protocolError(problem: string): RegistryAnswerError {
	return new RegistryAnswerError(`exec-server protocol error: ${problem}`);
}
