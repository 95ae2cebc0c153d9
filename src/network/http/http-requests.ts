import {LongarmError} from '../../shared/errors.js';
import {formatSize} from '../../shared/units.js';
import {ByteBudget} from '../byte-budget.js';
import {
	abortedBodyMessage,
	abortedRequestError,
	bodyFailedError,
	describeNetworkError,
	invalidRequestError,
	requestFailedError,
} from '../network-failures.js';
import {ConnectionPool} from './connection-pool.js';
import {Exchange, type HttpResponseHead} from './exchange.js';
import {HttpPolicy} from './http-policy.js';
import type {HttpRequest, HttpVariables} from './http-request.js';
import type {HttpScope} from './http-scopes.js';
import {prepareRequest} from './prepare-request.js';
import {BufferedBody, MAX_BUFFERED_TOTAL_BYTES} from './read-body.js';
import type {BodySink, ResponseBody} from './response-body.js';

/** Concurrent requests of one client. */
export const MAX_REQUESTS_IN_FLIGHT = 256;
/** Bytes of request bodies in flight of one client; a single body may be larger. */
export const MAX_UPLOADS_BYTES = 128 * 1024 * 1024;

export interface WholeResponse extends HttpResponseHead {
	readonly body: Buffer;
}

export interface StreamedResponse extends HttpResponseHead {
	/** Delivers the body to the sink. Call once. */
	readonly pump: (sink: BodySink) => Promise<void>;
}

export interface HttpRequestsOptions {
	/** Say which proxies to use, and are what headers may take values from. */
	readonly variables: HttpVariables;
	/** Who names are looked up for, see `Asker`. */
	readonly owner?: unknown;
	/** Limits of a client that is not the user of this process; without them everything is allowed. */
	readonly limits?: {
		/** Names of the variables that headers may take values from; undefined for all but protected ones. */
		readonly headerVariables: readonly string[] | undefined;
		readonly scope: HttpScope;
	};
}

/** HTTP requests of one client, on connections of its own; all end with it. */
export class HttpRequests {
	readonly #options: HttpRequestsOptions;
	readonly #policy: HttpPolicy | undefined;
	readonly #pool: ConnectionPool;
	readonly #exchanges = new Set<Exchange>();
	readonly #streams = new Set<string>();
	readonly #uploads = new ByteBudget(MAX_UPLOADS_BYTES);
	readonly #bodies = new ByteBudget(MAX_BUFFERED_TOTAL_BYTES);
	#isClosed = false;

	constructor(options: HttpRequestsOptions) {
		this.#options = options;
		this.#policy = options.limits && new HttpPolicy(options.limits.scope);
		this.#pool = new ConnectionPool(options.variables, this.#policy, options.owner);
	}

	/** Fetches the whole response; its memory counts for the budget until `use` settles. */
	async fetch<T>(request: HttpRequest, use: (response: WholeResponse) => T | Promise<T>): Promise<T> {
		const exchange = this.#begin(request);
		const buffered = new BufferedBody(this.#bodies);
		try {
			return await use(await this.#collect(exchange, buffered));
		} finally {
			buffered.release();
			this.#release(exchange);
		}
	}

	/** Fetches the head of the response. The id is taken until the body has ended. */
	async stream(request: HttpRequest): Promise<StreamedResponse> {
		const exchange = this.#begin(request, true);
		try {
			const {body, ...head} = await exchange.fetchResponse(this.#pool);
			return {...head, pump: sink => this.#pump(exchange, body, sink)};
		} catch (error) {
			this.#releaseStream(exchange);
			throw error;
		}
	}

	/** Aborts every request of this id; no-op for an unknown id. */
	cancel(id: string): void {
		for (const exchange of this.#exchanges) if (exchange.id === id) exchange.abort('cancelled');
	}

	/** Aborts all requests, when the client disconnects, and takes no more. */
	close(): void {
		this.#isClosed = true;
		for (const exchange of this.#exchanges) exchange.abort('disconnected');
		this.#pool.close();
	}

	#begin(request: HttpRequest, streams = false): Exchange {
		const {variables, limits} = this.#options;
		this.#policy?.requireAllowed();
		if (this.#isClosed) throw abortedRequestError('disconnected');
		const hop = prepareRequest(request, variables, limits?.headerVariables);
		if (streams && this.#streams.has(request.id)) {
			throw invalidRequestError(`streamResponse requestId \`${request.id}\` is already active`);
		}
		if (this.#exchanges.size >= MAX_REQUESTS_IN_FLIGHT) {
			throw requestFailedError(`more than ${MAX_REQUESTS_IN_FLIGHT} requests of this connection are under way`);
		}
		if (!this.#uploads.tryReserve(hop.body?.length ?? 0)) {
			throw requestFailedError(`the request bodies under way take more than ${formatSize(MAX_UPLOADS_BYTES)}`);
		}
		const exchange = new Exchange(request, hop);
		this.#exchanges.add(exchange);
		if (streams) this.#streams.add(request.id);
		return exchange;
	}

	async #collect(exchange: Exchange, buffered: BufferedBody): Promise<WholeResponse> {
		try {
			const response = await exchange.fetchResponse(this.#pool);
			return {...response, body: await buffered.read(response, response.body)};
		} catch (error) {
			throw toBodyError(exchange, error);
		}
	}

	#release(exchange: Exchange): void {
		this.#exchanges.delete(exchange);
		this.#uploads.release(exchange.uploadBytes);
		exchange.close();
	}

	#releaseStream(exchange: Exchange): void {
		this.#streams.delete(exchange.id);
		this.#release(exchange);
	}

	async #pump(exchange: Exchange, body: ResponseBody, sink: BodySink): Promise<void> {
		let failure: string | null = null;
		try {
			await body.pumpTo(sink);
		} catch (error) {
			failure = exchange.abortReason ? abortedBodyMessage(exchange.abortReason) : describeNetworkError(error);
		}
		this.#releaseStream(exchange);
		sink.end(failure);
	}
}

/** Wraps an error of reading the body; earlier ones are LongarmErrors already. */
function toBodyError({abortReason}: Exchange, error: unknown): unknown {
	if (error instanceof LongarmError) return error;
	if (abortReason === 'timeout') return bodyFailedError(abortedBodyMessage(abortReason), error);
	return abortReason ? abortedRequestError(abortReason) : bodyFailedError(describeNetworkError(error), error);
}
