import type {IncomingMessage} from 'node:http';
import {LongarmError} from '../../shared/errors.js';
import type {BoundedReader} from '../../shared/node/bounded-reader.js';
import {MAX_TIMER_MS} from '../../shared/units.js';
import {type GivenUp, givenUpBeforeResponse, requestFailed, sendFailed} from '../network-failures.js';
import type {Agents} from './agents.js';
import type {Hop, HttpRequest} from './http-request.js';
import {MAX_REDIRECTS, nextHop} from './redirects.js';
import {type Answer, send} from './send-request.js';

export interface HttpResponseHead {
	readonly status: number;
	/** In the order of the origin, with repeats. */
	readonly headers: readonly {readonly name: string; readonly value: string}[];
}

export interface HttpResponse extends HttpResponseHead {
	readonly body: BoundedReader;
}

/** One request of a client, from its first hop to the end of the body. */
export class Exchange {
	readonly id: string;
	readonly #hop: Hop;
	readonly #follow: boolean;
	readonly #abort = new AbortController();
	readonly #timer: NodeJS.Timeout | undefined;
	/** Everything that was answered; only the last one's body is of interest. */
	readonly #answers: Answer[] = [];
	#givenUp: GivenUp | undefined;

	constructor({id, redirects, timeoutMs}: HttpRequest, hop: Hop) {
		this.id = id;
		this.#hop = hop;
		this.#follow = redirects === 'follow';
		if (timeoutMs === undefined) return;
		if (timeoutMs === 0) this.#givenUp = 'timeout';
		else this.#timer = setTimeout(() => this.giveUp('timeout'), Math.min(timeoutMs, MAX_TIMER_MS));
	}

	/** Bytes of the request that are kept in case they have to be sent again. */
	get uploadBytes(): number {
		return this.#hop.body?.length ?? 0;
	}

	/** Why it ended early, if it did. */
	get givenUp(): GivenUp | undefined {
		return this.#givenUp;
	}

	/** The response that counts, with redirects followed if the client wants that. */
	async respond(agents: Agents): Promise<HttpResponse> {
		for (let hop = this.#hop, redirects = 0; ; redirects++) {
			const {incoming, body} = await this.#send(hop, agents);
			const next = this.#follow ? nextHop(hop, incoming) : undefined;
			if (!next) return {...headOf(incoming), body};
			if (redirects === MAX_REDIRECTS) throw requestFailed('too many redirects');
			hop = next;
		}
	}

	giveUp(why: GivenUp): void {
		this.#givenUp ??= why;
		this.#abort.abort();
	}

	/** To be called when nothing more is wanted of it. */
	close(): void {
		clearTimeout(this.#timer);
		for (const answer of this.#answers) answer.drop();
	}

	async #send(hop: Hop, agents: Agents): Promise<Answer> {
		if (this.#givenUp) throw givenUpBeforeResponse(this.#givenUp);
		try {
			const answer = await send(hop, agents.routeTo(hop.url), this.#abort.signal);
			this.#answers.push(answer);
			return answer;
		} catch (error) {
			if (this.#givenUp) throw givenUpBeforeResponse(this.#givenUp);
			throw error instanceof LongarmError ? error : sendFailed(hop.url, error);
		}
	}
}

/** Names in lower case; what is not visible ASCII is left out, since JSON could not say what the bytes were. */
function headOf({statusCode, rawHeaders}: IncomingMessage): HttpResponseHead {
	const headers: {name: string; value: string}[] = [];
	for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
		const value = rawHeaders[index + 1]!;
		if (/^[\t\x20-\x7e]*$/.test(value)) headers.push({name: rawHeaders[index]!.toLowerCase(), value});
	}
	return {status: statusCode!, headers};
}
