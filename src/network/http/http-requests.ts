import {LongarmError} from '../../shared/errors.js';
import type {BoundedReader} from '../../shared/node/bounded-reader.js';
import {formatSize} from '../../shared/units.js';
import {ByteBudget} from '../byte-budget.js';
import {
	bodyFailed,
	givenUpBeforeResponse,
	givenUpInBody,
	invalidRequest,
	reasonOf,
	requestFailed,
} from '../network-failures.js';
import {Agents} from './agents.js';
import {Exchange, type HttpResponseHead} from './exchange.js';
import type {HttpRequest, HttpVariables} from './http-request.js';
import {prepareRequest} from './prepare-request.js';
import {BUFFERED_BODIES_BYTES, BufferedBody} from './read-body.js';

/** Requests of one client under way at once. */
export const MAX_REQUESTS_IN_FLIGHT = 256;
/** Bytes of request bodies under way at once; one always may be. */
export const UPLOADS_BYTES = 128 * 1024 * 1024;

export interface WholeResponse extends HttpResponseHead {
	readonly body: Buffer;
}

/** Where the pieces of a streamed body go. */
export interface BodySink {
	/** Settles when the next piece may come. */
	ready(): Promise<void>;
	data(bytes: Buffer): void;
	/** Comes once; `error` when the body broke off. */
	end(error: string | null): void;
}

export interface StreamedResponse extends HttpResponseHead {
	/** Carries the body over; to be called once. */
	readonly pump: (sink: BodySink) => Promise<void>;
}

/** The HTTP requests of one client. They share connections with nobody else and end with it. */
export class HttpRequests {
	readonly #variables: HttpVariables;
	readonly #agents: Agents;
	readonly #exchanges = new Set<Exchange>();
	readonly #streams = new Set<string>();
	readonly #uploads = new ByteBudget(UPLOADS_BYTES);
	readonly #bodies = new ByteBudget(BUFFERED_BODIES_BYTES);

	constructor(variables: HttpVariables) {
		this.#variables = variables;
		this.#agents = new Agents(variables);
	}

	/** The whole response, for as long as `use` takes. */
	async fetch<T>(request: HttpRequest, use: (response: WholeResponse) => T | Promise<T>): Promise<T> {
		const exchange = this.#begin(request);
		const buffered = new BufferedBody(this.#bodies);
		try {
			return await use(await this.#collect(exchange, buffered));
		} finally {
			buffered.release();
			this.#end(exchange);
		}
	}

	/** The head of the response. Its id is taken until the body has ended. */
	async stream(request: HttpRequest): Promise<StreamedResponse> {
		const exchange = this.#begin(request, true);
		try {
			const {body, ...head} = await exchange.respond(this.#agents);
			return {...head, pump: sink => this.#pump(exchange, body, sink)};
		} catch (error) {
			this.#endStream(exchange);
			throw error;
		}
	}

	/** Gives up every request of this id; there may be none. */
	cancel(id: string): void {
		for (const exchange of this.#exchanges) if (exchange.id === id) exchange.giveUp('cancelled');
	}

	/** The client is gone. */
	close(): void {
		for (const exchange of this.#exchanges) exchange.giveUp('disconnected');
		this.#agents.close();
	}

	#begin(request: HttpRequest, streams = false): Exchange {
		const hop = prepareRequest(request, this.#variables);
		if (streams && this.#streams.has(request.id)) {
			throw invalidRequest(`streamResponse requestId \`${request.id}\` is already active`);
		}
		if (this.#exchanges.size >= MAX_REQUESTS_IN_FLIGHT) {
			throw requestFailed(`more than ${MAX_REQUESTS_IN_FLIGHT} requests of this connection are under way`);
		}
		if (!this.#uploads.add(hop.body?.length ?? 0)) {
			throw requestFailed(`the request bodies under way take more than ${formatSize(UPLOADS_BYTES)}`);
		}
		const exchange = new Exchange(request, hop);
		this.#exchanges.add(exchange);
		if (streams) this.#streams.add(request.id);
		return exchange;
	}

	async #collect(exchange: Exchange, buffered: BufferedBody): Promise<WholeResponse> {
		try {
			const response = await exchange.respond(this.#agents);
			return {...response, body: await buffered.read(response, response.body)};
		} catch (error) {
			throw inBody(exchange, error);
		}
	}

	#end(exchange: Exchange): void {
		this.#exchanges.delete(exchange);
		this.#uploads.remove(exchange.uploadBytes);
		exchange.close();
	}

	#endStream(exchange: Exchange): void {
		this.#streams.delete(exchange.id);
		this.#end(exchange);
	}

	async #pump(exchange: Exchange, body: BoundedReader, sink: BodySink): Promise<void> {
		let failure: string | null = null;
		try {
			for (;;) {
				await body.waitForData();
				await sink.ready();
				const piece = body.take();
				if (piece.length === 0) break;
				sink.data(piece);
			}
		} catch (error) {
			failure = exchange.givenUp ? givenUpInBody(exchange.givenUp) : reasonOf(error);
		}
		this.#endStream(exchange);
		sink.end(failure);
	}
}

/** What a failure while the body is read is called; those before it have their name already. */
function inBody({givenUp}: Exchange, error: unknown): unknown {
	if (error instanceof LongarmError) return error;
	if (givenUp === 'timeout') return bodyFailed(givenUpInBody(givenUp), error);
	return givenUp ? givenUpBeforeResponse(givenUp) : bodyFailed(reasonOf(error), error);
}
