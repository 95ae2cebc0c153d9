import {setTimeout as sleep} from 'node:timers/promises';
import {type OptionTable, readOptions, type WithDurations} from '../../shared/call-options.js';
import type {ModelEndpoint} from './model-endpoint.js';
import {ModelError} from './model-error.js';
import {RequestAttempt} from './request-attempt.js';
import {createRequestBody, createRequestHeaders, type ModelRequest} from './request-body.js';
import type {ModelResponse} from './response-items.js';
import {backOffMs, MAX_RETRY_WAIT_MS} from './retry-delays.js';

/** Retries of a response whose stream fails or breaks off. */
export const MAX_STREAM_RETRIES = 5;
/** Retries of a request that is not answered with a stream: no connection, 429, 5xx. */
export const MAX_REQUEST_RETRIES = 4;
/** Silence after which a stream counts as broken. */
export const MAX_STREAM_SILENCE_MS = 300_000;

/** Options of a `ResponsesClient`. */
export interface ResponsesClientOptions {
	/** Silence after which a stream counts as broken; 300 s by default. */
	readonly maxSilenceMs?: number | undefined;
	/** First delay of the back-off; 200 ms by default. */
	readonly baseDelayMs?: number | undefined;
	/** In place of the global one. */
	readonly fetch?: typeof globalThis.fetch | undefined;
}

/** Options of `ResponsesClient.respond`. */
export interface ResponseOptions {
	readonly signal?: AbortSignal | undefined;
	/** Hears of every failure that is tried again. */
	readonly onRetry?: ((error: ModelError, delayMs: number) => void) | undefined;
}

const CLIENT_OPTIONS: OptionTable<ResponsesClientOptions> = {
	maxSilenceMs: 'duration',
	baseDelayMs: 'duration',
	fetch: 'function',
};

/** Client of a Responses API: one request, one finished response, with retries in between. */
export class ResponsesClient {
	readonly #endpoint: ModelEndpoint;
	readonly #options: ResponsesClientOptions;

	constructor(endpoint: ModelEndpoint, options: WithDurations<ResponsesClientOptions> = {}) {
		this.#endpoint = endpoint;
		this.#options = readOptions<ResponsesClientOptions>(options, CLIENT_OPTIONS, 'ResponsesClient');
	}

	/**
	 * The finished response. Rejects with a `ModelError`, or with the reason of the signal. Items of a stream that failed
	 * are dropped, so no call is made twice.
	 */
	async respond(request: ModelRequest, options: ResponseOptions = {}): Promise<ModelResponse> {
		const body = JSON.stringify(createRequestBody(request));
		return this.#retry(MAX_STREAM_RETRIES, options, async () => {
			const attempt = await this.#retry(MAX_REQUEST_RETRIES, options, () => this.#send(request, body, options.signal));
			return attempt.readResponse();
		});
	}

	async #send(request: ModelRequest, body: string, signal: AbortSignal | undefined): Promise<RequestAttempt> {
		const {maxSilenceMs = MAX_STREAM_SILENCE_MS, fetch = globalThis.fetch} = this.#options;
		const headers = createRequestHeaders(request, this.#endpoint.authorization());
		return RequestAttempt.send(this.#endpoint, {headers, body, maxSilenceMs, signal, fetch});
	}

	async #retry<T>(maxRetries: number, {signal, onRetry}: ResponseOptions, work: () => Promise<T>): Promise<T> {
		for (let attempt = 1; ; attempt++) {
			try {
				return await work();
			} catch (error) {
				signal?.throwIfAborted();
				if (!(error instanceof ModelError) || !error.isRetryable) throw error;
				const delayMs = Math.max(error.waitMs ?? 0, backOffMs(attempt, this.#options.baseDelayMs));
				if (attempt > maxRetries || delayMs > MAX_RETRY_WAIT_MS) throw error.toFinal();
				onRetry?.(error, delayMs);
				await pause(delayMs, signal);
			}
		}
	}
}

/** Rejects with the reason of the signal. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
	try {
		await sleep(ms, undefined, {signal});
	} catch (error) {
		signal?.throwIfAborted();
		throw error;
	}
}
