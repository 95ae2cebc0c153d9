import {LongarmError} from '../../shared/errors.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import {type AbortReason, abortedRequestError, requestFailedError, sendFailedError} from '../network-failures.js';
import type {ConnectionPool} from './connection-pool.js';
import type {Hop, HttpRequest} from './http-request.js';
import {MAX_REDIRECTS, nextHop} from './redirects.js';
import type {ResponseBody} from './response-body.js';
import type {HeaderField, ReceivedHead} from './response-head.js';
import {SentRequest} from './send-request.js';

const OPAQUE = /[^\t\x20-\x7e]/;

export interface HttpResponseHead {
	readonly status: number;
	/** In the order they were received, repeated ones included. */
	readonly headers: readonly HeaderField[];
	/** URL of the response; undefined unless redirects were followed. */
	readonly finalUrl?: string | undefined;
}

export interface HttpResponse extends HttpResponseHead {
	readonly body: ResponseBody;
}

/** One HTTP request of a client, redirects included, until the end of the body. */
export class Exchange {
	readonly id: string;
	readonly #hop: Hop;
	readonly #followsRedirects: boolean;
	readonly #timer: NodeJS.Timeout | undefined;
	/** Requests of all hops; only the body of the last one is read. */
	readonly #sent: SentRequest[] = [];
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
	async fetchResponse(pool: ConnectionPool): Promise<HttpResponse> {
		for (let hop = this.#hop, redirects = 0; ; redirects++) {
			if (this.#abortReason) throw abortedRequestError(this.#abortReason);
			let head: ReceivedHead;
			try {
				const sent = new SentRequest(hop, pool.routeTo(hop.url), pool);
				this.#sent.push(sent);
				head = await sent.head;
			} catch (error) {
				throw this.#toSendError(hop, error);
			}
			const next = this.#followsRedirects ? nextHopOf(hop, head) : undefined;
			if (!next) {
				const finalUrl = redirects > 0 ? hop.url.href : undefined;
				return {status: head.status, headers: toVisibleHeaders(head), finalUrl, body: this.#sent.at(-1)!.body};
			}
			if (redirects === MAX_REDIRECTS) throw requestFailedError('too many redirects');
			hop = next;
		}
	}

	abort(why: AbortReason): void {
		this.#abortReason ??= why;
		for (const sent of this.#sent) sent.abort();
	}

	/** Releases the timer and the connections. Call once, at the end. */
	close(): void {
		if (this.#timer) clearTimeout(this.#timer);
		for (const sent of this.#sent) sent.abort();
	}

	#toSendError(hop: Hop, error: unknown): LongarmError {
		if (this.#abortReason) return abortedRequestError(this.#abortReason);
		return error instanceof LongarmError ? error : sendFailedError(hop.url, error);
	}
}

function nextHopOf(hop: Hop, {status, headers}: ReceivedHead): Hop | undefined {
	if (status < 300 || status >= 400) return undefined;
	const location = headers.find(({name}) => name === 'location')?.value;
	return nextHop(hop, {statusCode: status, headers: {...(location !== undefined && {location})}});
}

/** Values that are not visible ASCII are left out, since JSON cannot represent their bytes. */
function toVisibleHeaders({headers, hasOpaqueValues}: ReceivedHead): readonly HeaderField[] {
	return hasOpaqueValues ? headers.filter(({value}) => !OPAQUE.test(value)) : headers;
}
