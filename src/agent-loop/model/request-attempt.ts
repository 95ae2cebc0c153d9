import {onAbort} from '../../shared/async/on-abort.js';
import {errorMessage} from '../../shared/errors.js';
import type {ModelEndpoint} from './model-endpoint.js';
import {ModelError, type ModelFailure} from './model-error.js';
import {asRecord, decodeFailure, decodeResponseEvent, parseJson, type ResponseEvent} from './response-events.js';
import type {ModelResponse, ResponseItem} from './response-items.js';
import {parseRetryAfter} from './retry-delays.js';
import {EventTooLargeError, SseParser} from './sse-parser.js';

/** Size of all events of one response together. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Read of the body of a refusal; its message is cut to `MAX_MESSAGE_CHARACTERS`. */
const MAX_REFUSAL_BYTES = 64 * 1024;
const MAX_MESSAGE_CHARACTERS = 2_000;
/** Wait for the end of a stream behind its last event, so that the connection can be used again. */
const MAX_DRAIN_MS = 1_000;

const [TOO_MANY_REQUESTS, FIRST_SERVER_ERROR] = [429, 500];
const REASONS_BY_STATUS: Readonly<Record<number, ModelFailure>> = {
	401: 'credentials',
	403: 'credentials',
	[TOO_MANY_REQUESTS]: 'rate-limit',
};

export interface AttemptOptions {
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
	readonly maxSilenceMs: number;
	readonly signal: AbortSignal | undefined;
	readonly fetch: typeof globalThis.fetch;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** One HTTP request and the stream it is answered with. */
export class RequestAttempt {
	readonly #endpoint: ModelEndpoint;
	readonly #reader: Reader;
	readonly #watch: SilenceWatch;

	/** Settles when the endpoint has begun a stream; rejects with a `ModelError` or the reason of the signal. */
	static async send(endpoint: ModelEndpoint, options: AttemptOptions): Promise<RequestAttempt> {
		const {headers, body, maxSilenceMs, signal, fetch} = options;
		const watch = new SilenceWatch(maxSilenceMs, signal);
		try {
			// The key is for this endpoint: a redirect is not followed.
			const init = {method: 'POST', headers, body, signal: watch.signal, redirect: 'manual'} as const;
			const response = await fetch(endpoint.url, init);
			watch.heard();
			if (!response.ok) throw await refusalOf(response, endpoint);
			if (!response.body) throw new ModelError('stream', {message: 'the answer has no body'});
			return new RequestAttempt(endpoint, response.body.getReader() as Reader, watch);
		} catch (error) {
			watch.end();
			throw watch.explain(error, 'connection', endpoint);
		}
	}

	private constructor(endpoint: ModelEndpoint, reader: Reader, watch: SilenceWatch) {
		this.#endpoint = endpoint;
		this.#reader = reader;
		this.#watch = watch;
	}

	/** The response, once it is finished. May be called once. */
	async readResponse(): Promise<ModelResponse> {
		const items: ResponseItem[] = [];
		let isFinished = false;
		try {
			for await (const event of this.#events()) {
				if (event.kind === 'item') items.push(event.item);
				if (event.kind === 'failed') throw this.#failure(event);
				if (event.kind !== 'completed') continue;
				isFinished = true;
				return {id: event.id, items, usage: event.usage};
			}
			throw new ModelError('stream', {message: 'stream closed before response.completed'});
		} catch (error) {
			throw this.#watch.explain(error, 'stream', this.#endpoint);
		} finally {
			this.#watch.end();
			if (isFinished) void drain(this.#reader);
			else void this.#reader.cancel().catch(() => {});
		}
	}

	async *#events(): AsyncGenerator<ResponseEvent> {
		const parser = new SseParser();
		let size = 0;
		for (;;) {
			const {done, value} = await this.#reader.read();
			this.#watch.heard();
			size += value?.length ?? 0;
			if (size > MAX_RESPONSE_BYTES) throw new EventTooLargeError();
			for (const data of done ? parser.end() : parser.push(value)) {
				const event = decodeResponseEvent(data);
				if (event) yield event;
			}
			if (done) return;
		}
	}

	#failure({reason, message, waitMs}: ResponseEvent & {kind: 'failed'}): ModelError {
		return new ModelError(reason, {message: shorten(this.#endpoint.redact(message)), waitMs});
	}
}

/** Aborts a request with its caller, and after a silence. */
class SilenceWatch {
	readonly #controller = new AbortController();
	readonly #timer: NodeJS.Timeout;
	readonly #stopListening: () => void;

	constructor(maxSilenceMs: number, signal: AbortSignal | undefined) {
		const error = new ModelError('idle', {message: 'idle timeout waiting for SSE'});
		this.#timer = setTimeout(() => this.#controller.abort(error), maxSilenceMs);
		this.#stopListening = onAbort(signal, reason => this.#controller.abort(reason));
	}

	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	heard(): void {
		this.#timer.refresh();
	}

	end(): void {
		clearTimeout(this.#timer);
		this.#stopListening();
	}

	/** The error to throw for one of a request: the reason of an abort, or a `ModelError`. */
	explain(error: unknown, reason: ModelFailure, endpoint: ModelEndpoint): unknown {
		if (this.signal.aborted) return this.signal.reason;
		if (error instanceof ModelError) return error;
		if (error instanceof EventTooLargeError) return new ModelError('protocol', {message: error.message});
		// `fetch failed` alone says nothing: the cause has the system error. It is not passed on, since it may hold headers.
		const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
		const detail = cause ? `: ${cause.message || (cause as NodeJS.ErrnoException).code || cause.name}` : '';
		const what = reason === 'connection' ? 'the model endpoint cannot be reached' : 'the stream broke off';
		const text = cause ? detail : `: ${errorMessage(error)}`;
		return new ModelError(reason, {message: shorten(endpoint.redact(`${what}${text}`))});
	}
}

/** Error for an answer that is no stream. */
async function refusalOf(response: Response, endpoint: ModelEndpoint): Promise<ModelError> {
	const {status, statusText} = response;
	const text = await readSome(response);
	const body = asRecord(parseJson(text));
	const isServerFault = status >= FIRST_SERVER_ERROR;
	const standard = REASONS_BY_STATUS[status] ?? (isServerFault ? 'server' : 'invalid-request');
	const failure = decodeFailure(asRecord(body?.['error']) ?? body, standard);
	// A code may call a refusal transient only where its status does, too.
	const isTransient = isServerFault || status === TOO_MANY_REQUESTS;
	const reason = failure.reason === 'rate-limit' && !isTransient ? standard : failure.reason;
	const said = body === undefined ? text.trim() : failure.message;
	const title = `the model endpoint answered ${status}${statusText === '' ? '' : ` ${statusText}`}`;
	const waitMs = parseRetryAfter(response.headers.get('retry-after')) ?? failure.waitMs;
	return new ModelError(reason, {
		message: shorten(endpoint.redact(said === '' ? title : `${title}: ${said}`)),
		waitMs,
	});
}

async function readSome({body}: Response): Promise<string> {
	if (!body) return '';
	const reader = body.getReader() as Reader;
	const chunks: Uint8Array[] = [];
	let size = 0;
	while (size < MAX_REFUSAL_BYTES) {
		const {done, value} = await reader.read();
		if (done) break;
		chunks.push(value);
		size += value.length;
	}
	void reader.cancel().catch(() => {});
	return Buffer.concat(chunks).subarray(0, MAX_REFUSAL_BYTES).toString('utf8');
}

/** Reads on to the end, for a moment: a stream that is given up costs its connection. */
async function drain(reader: Reader): Promise<void> {
	const timer = setTimeout(() => void reader.cancel().catch(() => {}), MAX_DRAIN_MS);
	timer.unref();
	try {
		while (!(await reader.read()).done);
	} catch {
		// The response is complete; how its connection ends does not matter.
	} finally {
		clearTimeout(timer);
	}
}

function shorten(message: string): string {
	return message.length > MAX_MESSAGE_CHARACTERS ? `${message.slice(0, MAX_MESSAGE_CHARACTERS)}…` : message;
}
