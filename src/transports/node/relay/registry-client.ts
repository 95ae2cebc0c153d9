import * as v from 'valibot';
import {EXTENSION, type PoolOffer} from '../../../protocol/relay/executor-offer.js';
import {isMeantAsPool} from '../../../protocol/relay/pool-selector.js';
import {decodeRelayKey, type RelayKey, SECURITY_PROFILE} from '../../../protocol/relay/relay-keys.js';
import {errorMessage} from '../../../shared/errors.js';
import type {NoisePublicKeys} from '../../../shared/noise/hybrid-ik.js';
import type {TlsOptions} from '../tls-trust.js';
import {
	jsonError,
	missingFieldError,
	OMITTED_BODY,
	RegistryAnswerError,
	RegistryConfigError,
	RegistryError,
	RegistryUrlError,
} from './registry-errors.js';
import {askRegistryForText, parseAnswer, type RegistryRequest} from './registry-request.js';

/** Time limits of upstream. */
export const REGISTER_TIMEOUT_MS = 10_000;
export const CONNECT_BUNDLE_TIMEOUT_MS = 6000;
export const VALIDATE_TIMEOUT_MS = 10_000;
/** Ids are part of a URL and not encoded as one segment by stock executors. */
export const ENVIRONMENT_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Answers of a registry that reads a body more strictly than the stock one. */
const STRICT_STATUSES: ReadonlySet<number | undefined> = new Set([400, 422]);

const registrationSchema = v.object({
	environment_id: v.string(),
	url: v.string(),
	security_profile: v.string(),
	executor_registration_id: v.string(),
	[EXTENSION]: v.optional(v.unknown()),
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
	/** Whether the relay wants to be told the load of the executor. */
	readonly takesLoad: boolean;
}

/** Everything a client needs for one connection to an executor. */
export interface ConnectBundle {
	/** The executor: the one that was asked for, or the one that was chosen for a selector. */
	readonly environmentId: string;
	/** Ticket for the rendezvous socket. */
	readonly url: string;
	readonly registrationId: string;
	readonly executorKey: NoisePublicKeys;
	readonly authorization: string;
}

export interface RegistryClientOptions {
	/** Base URL of the registry, `https:` or `http:`. */
	readonly url: string;
	/** Id of an environment; for a client also a selector such as `pool:gpu`. */
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

	/** A registry that refuses members it does not know is asked again without the offer. */
	async register(key: RelayKey, signal?: AbortSignal, offer?: PoolOffer): Promise<Registration> {
		try {
			return await this.#register(key, signal, offer);
		} catch (error) {
			const isStrict = error instanceof RegistryError && STRICT_STATUSES.has(error.status);
			if (offer === undefined || !isStrict) throw error;
			return this.#register(key, signal, undefined);
		}
	}

	async #register(key: RelayKey, signal: AbortSignal | undefined, offer: PoolOffer | undefined): Promise<Registration> {
		const body = {security_profile: SECURITY_PROFILE, executor_public_key: key, ...(offer && {[EXTENSION]: offer})};
		const {hidesBodies = false} = this.#options;
		const insteadOfBody = hidesBodies ? 'environment registry executor registration failed' : undefined;
		const received = await this.#post('register', body, {timeoutMs: REGISTER_TIMEOUT_MS, signal, insteadOfBody});
		if (hidesBodies) this.#requireNoEcho(received);
		const answer = decodeAnswer(registrationSchema, received);
		this.#requireSame(answer);
		const takesLoad = (answer[EXTENSION] as {takes_load?: unknown} | null | undefined)?.takes_load === true;
		return {url: answer.url, registrationId: answer.executor_registration_id, takesLoad};
	}

	async connect(key: RelayKey, signal?: AbortSignal): Promise<ConnectBundle> {
		const answer = decodeAnswer(
			bundleSchema,
			await this.#post('connect', {harness_public_key: key}, {timeoutMs: CONNECT_BUNDLE_TIMEOUT_MS, signal}),
		);
		this.#requireSame(answer);
		const {environment_id: environmentId, url} = answer;
		const {executor_registration_id: registrationId, harness_key_authorization: authorization} = answer;
		if ([url, registrationId, authorization].some(text => text.trim() === '')) {
			throw protocolError('environment registry returned incomplete Noise connection data');
		}
		const executorKey = decodeExecutorKey(answer.executor_public_key);
		return {environmentId, url, registrationId, authorization, executorKey};
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
			insteadOfBody: OMITTED_BODY,
		});
		return (parseAnswer(answer) as {valid?: unknown} | null)?.valid === true;
	}

	/** Stock executors do not encode an id, and a label in a selector may have a slash. */
	get #segment(): string {
		const {environmentId} = this;
		return isMeantAsPool(environmentId) ? encodeURIComponent(environmentId) : environmentId;
	}

	/** A token of its own must not travel on in a ticket. */
	#requireNoEcho(text: string): void {
		const token = this.#options.token();
		const received = parseOrUndefined(text);
		// Both sides are compared as JSON: a token may contain quotes and backslashes.
		const isEchoed = token !== undefined && JSON.stringify(received)?.includes(JSON.stringify(token).slice(1, -1));
		const isWhole = v.safeParse(registrationSchema, received).success;
		if (isEchoed || !isWhole) throw protocolError('invalid environment registry executor registration response');
	}

	#requireSame({environment_id: id, security_profile: profile}: v.InferOutput<typeof registrationSchema>): void {
		const isExpected = isMeantAsPool(this.environmentId) ? ENVIRONMENT_ID.test(id) : id === this.environmentId;
		if (!isExpected) throw protocolError('environment registry returned a different environment id');
		if (profile === SECURITY_PROFILE) return;
		throw protocolError(`environment registry returned unsupported security profile \`${profile}\``);
	}

	async #post(action: string, body: object, options: Omit<RegistryRequest, 'method'>): Promise<string> {
		const {accountId} = this.#options;
		const url = new URL(this.#base);
		url.pathname = `${url.pathname.replace(/\/+$/, '')}/cloud/environment/${this.#segment}/${action}`;
		const headers = {
			'content-type': 'application/json',
			accept: '*/*',
			...(accountId !== undefined && {'chatgpt-account-id': accountId}),
			...options.headers,
		};
		const sent = {...options, method: 'POST', body: JSON.stringify(body), headers};
		return askRegistryForText(url, sent, this.#options);
	}
}

/** Throws with upstream's words for a URL that cannot be meant. */
export function parseRegistryUrl(text: string): URL {
	const trimmed = text.trim().replace(/\/+$/, '');
	if (trimmed === '') throw new RegistryConfigError('environment registry base URL is required');
	if (!URL.canParse(trimmed)) throw new RegistryUrlError();
	const url = new URL(trimmed);
	if (url.protocol === 'https:' || url.protocol === 'http:') return url;
	throw new RegistryUrlError(`\`${trimmed}\` is not an http or https URL`);
}

function decodeAnswer<S extends v.GenericSchema>(schema: S, text: string): v.InferOutput<S> {
	const {success, output, issues} = v.safeParse(schema, parseAnswer(text));
	if (success) return output;
	const name = String(v.getDotPath(issues[0]));
	throw issues[0].received === 'undefined' ? missingFieldError(name, text) : jsonError(`invalid field \`${name}\``);
}

/** A key that no handshake can be begun with is told as upstream does. */
function decodeExecutorKey(key: unknown): NoisePublicKeys {
	try {
		return decodeRelayKey(key);
	} catch (cause) {
		const problem = `failed to start Noise relay handshake: ${errorMessage(cause)}`;
		throw new RegistryAnswerError(`Noise harness handshake failed before connection became ready: ${problem}`, {cause});
	}
}

function parseOrUndefined(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function protocolError(problem: string): RegistryAnswerError {
	return new RegistryAnswerError(`exec-server protocol error: ${problem}`);
}
