import type {FetchInit, Http} from '../../client/http/http.js';
import {HttpError, toHttpError} from '../../client/http/http-error.js';
import {type BodySource, createResponse} from '../../client/http/incoming-response.js';
import {toOutgoingRequest} from '../../client/http/outgoing-request.js';
import type {HttpVariables} from '../../network/http/http-request.js';
import {HttpRequests} from '../../network/http/http-requests.js';
import type {BodySink} from '../../network/http/response-body.js';

/** The network as this machine sees it, through the same code that serves others. */
export class LocalHttp implements Http, Disposable {
	readonly #requests: HttpRequests;
	#last = 0;

	/** Variables say which proxies to use, and are what headers may take values from. */
	constructor(variables: HttpVariables = process.env) {
		this.#requests = new HttpRequests({variables});
	}

	async fetch(input: string | URL | Request, init: FetchInit = {}): Promise<Response> {
		const request = await toOutgoingRequest(input, init);
		const {signal, redirect} = request;
		signal?.throwIfAborted();
		const id = `http-${++this.#last}`;
		const cancel = () => this.#requests.cancel(id);
		signal?.addEventListener('abort', cancel, {once: true});
		try {
			const {pump, ...head} = await this.#requests.stream({
				...request,
				id,
				redirects: redirect === 'follow' ? 'follow' : 'stop',
			});
			const body = new LocalBody(id, cancel);
			void pump(body);
			return createResponse(request, head, body);
		} catch (error) {
			signal?.throwIfAborted();
			throw toHttpError(error);
		} finally {
			signal?.removeEventListener('abort', cancel);
		}
	}

	/** Gives up every request and its connections. */
	close(): void {
		this.#requests.close();
	}

	[Symbol.dispose](): void {
		this.close();
	}
}

/** Hands a body over piece by piece: the origin is read as fast as the reader reads. */
class LocalBody implements BodySink, BodySource {
	readonly #id: string;
	readonly #giveUp: () => void;
	#wanted: (() => void) | undefined;
	#reader: {resolve(bytes: Uint8Array | undefined): void; reject(error: Error): void} | undefined;
	#ending: {readonly error: string | null} | undefined;
	#isCancelled = false;

	constructor(id: string, giveUp: () => void) {
		this.#id = id;
		this.#giveUp = giveUp;
	}

	get isReady(): boolean {
		return this.#reader !== undefined || this.#isCancelled;
	}

	async ready(): Promise<void> {
		if (this.isReady) return;
		await new Promise<void>(resolve => {
			this.#wanted = resolve;
		});
	}

	data(bytes: Buffer): void {
		// The reader keeps it, and the memory is only borrowed.
		this.#reader?.resolve(Buffer.from(bytes));
		this.#reader = undefined;
	}

	end(error: string | null): void {
		this.#ending = {error};
		this.#answer();
	}

	next(): Promise<Uint8Array | undefined> {
		return new Promise((resolve, reject) => {
			this.#reader = {resolve, reject};
			if (this.#ending) this.#answer();
			else this.#wanted?.();
		});
	}

	cancel(): void {
		this.#isCancelled = true;
		if (!this.#ending) this.#giveUp();
		this.#wanted?.();
	}

	#answer(): void {
		const error = this.#ending?.error;
		if (typeof error === 'string') {
			this.#reader?.reject(new HttpError('failed', `http response stream \`${this.#id}\` failed: ${error}`));
		} else {
			this.#reader?.resolve(undefined);
		}
		this.#reader = undefined;
	}
}
