import {type ClientRequest, type IncomingMessage, request as requestHttp} from 'node:http';
import {request as requestHttps} from 'node:https';
import {abortable, withTimeout} from '../../../shared/async/timeout.js';
import {errorMessage, LongarmError} from '../../../shared/errors.js';
import type {TlsOptions} from '../tls-trust.js';
import {
	jsonError,
	RegistryAnswerError,
	RegistryConfigError,
	RegistryError,
	refusedByRegistry,
} from './registry-errors.js';
import {requireSecureRegistry} from './secure-registry.js';
import {secureSocketOptions} from './secure-socket.js';

const MAX_ANSWER_BYTES = 64 * 1024;

/** One request to a registry. */
export interface RegistryRequest {
	readonly method: string;
	readonly body?: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly timeoutMs: number;
	readonly signal?: AbortSignal | undefined;
	/** Told in place of the body of a refusal, which could echo a secret. */
	readonly insteadOfBody?: string | undefined;
	readonly maxAnswerBytes?: number;
}

/** Who asks a registry, and whom it trusts. */
export interface RegistryAccess {
	readonly token: () => string | undefined;
	readonly tls?: TlsOptions | undefined;
}

/** The JSON of a successful answer; throws a `RegistryError` for any other. */
export async function askRegistry(url: URL, asked: RegistryRequest, access: RegistryAccess): Promise<unknown> {
	return parseAnswer(await askRegistryForText(url, asked, access));
}

/** The body of a successful answer; throws a `RegistryError` for any other. Redirects are not followed. */
export async function askRegistryForText(url: URL, asked: RegistryRequest, access: RegistryAccess): Promise<string> {
	const {timeoutMs, signal} = asked;
	const stop = new AbortController();
	try {
		const answered = withTimeout(exchange(url, asked, access, stop.signal), timeoutMs, () => {
			throw new Error('route-aware request timed out');
		});
		const {status, text} = await abortable(answered, signal);
		if (status < 200 || status >= 300) throw refusedByRegistry(status, text, asked.insteadOfBody);
		return text;
	} catch (cause) {
		if (signal?.aborted || isFromHere(cause)) throw cause;
		throw new RegistryError(`environment registry request failed: ${errorMessage(cause)}`, {cause});
	} finally {
		stop.abort();
	}
}

function isFromHere(error: unknown): boolean {
	return [LongarmError, RegistryError, RegistryAnswerError, RegistryConfigError].some(kind => error instanceof kind);
}

interface Answer {
	readonly status: number;
	readonly text: string;
}

async function exchange(
	url: URL,
	{method, body = '', headers, timeoutMs, maxAnswerBytes = MAX_ANSWER_BYTES}: RegistryRequest,
	{token, tls = {}}: RegistryAccess,
	signal: AbortSignal,
): Promise<Answer> {
	const bearer = token();
	if (bearer !== undefined) requireSecureRegistry(url);
	const request = url.protocol === 'https:' ? requestHttps : requestHttp;
	const secure = await secureSocketOptions(url, tls, {timeoutMs, signal});
	const pending = request(url, {
		method,
		headers: {...headers, ...(bearer !== undefined && {authorization: `Bearer ${bearer}`})},
		signal,
		// A connection that is there already is used without an agent.
		...(!secure.createConnection && {agent: false}),
		...secure,
	});
	return readAnswer(pending.end(body), url, maxAnswerBytes);
}

function readAnswer(request: ClientRequest, url: URL, maxBytes: number): Promise<Answer> {
	return new Promise((resolve, reject) => {
		request.on('error', cause => {
			reject(new Error(`error sending request for url (${url.href}): ${cause.message}`, {cause}));
		});
		request.on('response', (response: IncomingMessage) => {
			const chunks: Buffer[] = [];
			let bytes = 0;
			response.on('data', (chunk: Buffer) => {
				bytes += chunk.length;
				if (bytes > maxBytes) reject(new Error(`the answer is longer than ${maxBytes} bytes`));
				else chunks.push(chunk);
			});
			response.on('error', reject);
			response.on('end', () => resolve({status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString()}));
		});
	});
}

/** Throws a `RegistryAnswerError` for a body that is no JSON. */
export function parseAnswer(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch (cause) {
		throw jsonError(errorMessage(cause), cause);
	}
}
