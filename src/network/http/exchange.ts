import type {IncomingMessage} from 'node:http';
import {LongarmError} from '../../shared/errors.js';
import type {BoundedReader} from '../../shared/node/bounded-reader.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import {type AbortReason, abortedRequestError, requestFailedError, sendFailedError} from '../network-failures.js';
import type {Agents} from './agents.js';
import type {Hop, HttpRequest} from './http-request.js';
import {MAX_REDIRECTS, nextHop} from './redirects.js';
import {type ReceivedResponse, sendRequest} from './send-request.js';

export interface HttpResponseHead {
	readonly status: number;
	/** In the order they were received, repeated ones included. */
	readonly headers: readonly {readonly name: string; readonly value: string}[];
}

export interface HttpResponse extends HttpResponseHead {
	readonly body: BoundedReader;
}

/** One HTTP request of a client, redirects included, until the end of the body. */
export class Exchange {
	readonly id: string;
	readonly #hop: Hop;
	readonly #followsRedirects: boolean;
	readonly #controller = new AbortController();
	readonly #timer: NodeJS.Timeout | undefined;
	/** Responses of all hops; only the body of the last one is read. */
	readonly #responses: ReceivedResponse[] = [];
	#abortReason: AbortReason | undefined;

	constructor({id, redirects, timeoutMs}: HttpRequest, hop: Hop) {
		this.id = id;
		this.#hop = hop;
		this.#followsRedirects = redirects === 'follow';
		if (timeoutMs === undefined) return;
		if (timeoutMs === 0) this.#abortReason = 'timeout';
		else this.#timer = setTimeout(() => this.abort('timeout'), Math.min(timeoutMs, MAX_TIMER_MS));
	}

	/** Size of the request body, which is kept in case a redirect sends it again. */
	get uploadBytes(): number {
		return this.#hop.body?.length ?? 0;
	}

	/** Undefined unless it was aborted. */
	get abortReason(): AbortReason | undefined {
		return this.#abortReason;
	}

	/** The final response, after redirects if the client wants them followed. */
	async fetchResponse(agents: Agents): Promise<HttpResponse> {
		for (let hop = this.#hop, redirects = 0; ; redirects++) {
			const {incoming, body} = await this.#send(hop, agents);
			const next = this.#followsRedirects ? nextHop(hop, incoming) : undefined;
			if (!next) return {...toResponseHead(incoming), body};
			if (redirects === MAX_REDIRECTS) throw requestFailedError('too many redirects');
			hop = next;
		}
	}

	abort(why: AbortReason): void {
		this.#abortReason ??= why;
		this.#controller.abort();
	}

	/** Releases the timer and the connections. Call once, at the end. */
	close(): void {
		clearTimeout(this.#timer);
		for (const response of this.#responses) response.discard();
	}

	async #send(hop: Hop, agents: Agents): Promise<ReceivedResponse> {
		if (this.#abortReason) throw abortedRequestError(this.#abortReason);
		try {
			const response = await sendRequest(hop, agents.routeTo(hop.url), this.#controller.signal);
			this.#responses.push(response);
			return response;
		} catch (error) {
			if (this.#abortReason) throw abortedRequestError(this.#abortReason);
			throw error instanceof LongarmError ? error : sendFailedError(hop.url, error);
		}
	}
}

/** Names in lower case; values that are not visible ASCII are left out, since JSON cannot represent their bytes. */
function toResponseHead({statusCode, rawHeaders}: IncomingMessage): HttpResponseHead {
	const headers: {name: string; value: string}[] = [];
	for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
		const value = rawHeaders[index + 1]!;
		if (/^[\t\x20-\x7e]*$/.test(value)) headers.push({name: rawHeaders[index]!.toLowerCase(), value});
	}
	return {status: statusCode!, headers};
}
