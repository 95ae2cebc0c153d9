import type {Params} from '../../protocol/methods/method-table.js';
import type {SessionClient} from '../session/session-client.js';
import {HttpError, type HttpErrorCode} from './http-error.js';

/** Pieces of one body that may wait to be read. */
export const MAX_QUEUED_DELTAS = 256;
/** Bytes of all bodies of a client that may wait to be read. */
export const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** A server that sends more in one piece cannot be trusted with the rest. */
export const MAX_BODY_DELTA_BYTES = 1024 * 1024;

type Delta = Params<'http/request/bodyDelta'>;

/** The bodies that are on their way to one client. They are pushed, so what waits to be read is bounded. */
export class BodyStreams {
	readonly #streams = new Map<string, BodyStream>();
	#last = 0;
	#queuedBytes = 0;

	/** There is one for each client, however many ask: ids and memory are the client's. */
	static of(client: SessionClient): BodyStreams {
		const known = OF_CLIENTS.get(client);
		if (known) return known;
		const streams = new BodyStreams(client);
		OF_CLIENTS.set(client, streams);
		return streams;
	}

	private constructor(client: SessionClient) {
		client.on('http/request/bodyDelta', delta => this.#received(delta));
		client.onDisconnect(({message}) => {
			for (const stream of this.#streams.values()) stream.break('disconnected', message);
		});
	}

	/** Under an id of its own, known from now on. */
	open(): BodyStream {
		const id = `http-${++this.#last}`;
		const stream = new BodyStream(id, {
			book: bytes => {
				if (this.#queuedBytes + bytes > MAX_QUEUED_BYTES) return false;
				this.#queuedBytes += bytes;
				return true;
			},
			over: () => this.#streams.delete(id),
		});
		this.#streams.set(id, stream);
		return stream;
	}

	/** What is for nobody is ignored, unless no server should send it at all. */
	#received(delta: Delta): void {
		if (delta.deltaBase64.length > MAX_BODY_DELTA_BYTES) {
			throw new Error(`http response body delta exceeds ${MAX_BODY_DELTA_BYTES} bytes`);
		}
		this.#streams.get(delta.requestId)?.receive(delta);
	}
}

const OF_CLIENTS = new WeakMap<SessionClient, BodyStreams>();

interface Keeper {
	/** Accounts for bytes that wait to be read, or, with a negative number, no longer do; false if there is no room. */
	book(bytes: number): boolean;
	/** Nothing more is expected. */
	over(): void;
}

type Ending = {readonly kind: 'done'} | {readonly kind: 'failed'; readonly error: HttpError};

/** One body. What arrived before its end or its failure is read before that. */
export class BodyStream {
	readonly id: string;
	readonly #keeper: Keeper;
	readonly #queue: Uint8Array[] = [];
	#expected = 1;
	#ending: Ending | undefined;
	#wake: (() => void) | undefined;
	#check: ReturnType<typeof setTimeout> | undefined;

	constructor(id: string, keeper: Keeper) {
		this.id = id;
		this.#keeper = keeper;
	}

	/** Whether the server has said its last about it. */
	get isOver(): boolean {
		return this.#ending !== undefined;
	}

	receive({seq, deltaBase64: bytes, done, error}: Delta): void {
		if (seq !== this.#expected) {
			this.#fail('invalid-data', `received seq ${seq}, expected ${this.#expected}`);
			return;
		}
		this.#expected++;
		if (error !== undefined && error !== null) this.break('failed', error);
		else if (bytes.length > 0) this.#enqueue(bytes);
		if (done) this.#end({kind: 'done'});
	}

	/** Nothing more comes, for a reason. */
	break(code: HttpErrorCode, reason: string): void {
		this.#fail(code, `failed: ${reason}`);
	}

	/** The next bytes; undefined at the end. */
	async next(): Promise<Uint8Array | undefined> {
		while (this.#queue.length === 0 && !this.#ending) {
			await new Promise<void>(resolve => {
				this.#wake = resolve;
			});
		}
		const bytes = this.#queue.shift();
		if (bytes) this.#keeper.book(-bytes.length);
		else if (this.#ending?.kind === 'failed') throw this.#ending.error;
		return bytes;
	}

	/** Nobody reads it any more. */
	close(): void {
		this.#end({kind: 'done'});
		clearTimeout(this.#check);
		for (const bytes of this.#queue.splice(0)) this.#keeper.book(-bytes.length);
	}

	#enqueue(bytes: Uint8Array): void {
		if (!this.#keeper.book(bytes.length)) {
			this.break('overrun', `queued body deltas exceed ${MAX_QUEUED_BYTES} bytes`);
			return;
		}
		this.#queue.push(bytes);
		this.#wake?.();
		// Many small pieces may arrive in one turn, in which no reader can take any: what counts is what is left of them.
		if (this.#queue.length > MAX_QUEUED_DELTAS) this.#check ??= setTimeout(() => this.#requireFew());
	}

	/** A body that is complete does not grow any more, and may wait. */
	#requireFew(): void {
		this.#check = undefined;
		if (this.#ending || this.#queue.length <= MAX_QUEUED_DELTAS) return;
		for (const bytes of this.#queue.splice(MAX_QUEUED_DELTAS)) this.#keeper.book(-bytes.length);
		this.break('overrun', 'body delta channel filled before delivery');
	}

	#fail(code: HttpErrorCode, what: string): void {
		this.#end({kind: 'failed', error: new HttpError(code, `http response stream \`${this.id}\` ${what}`)});
	}

	#end(ending: Ending): void {
		if (this.#ending) return;
		this.#ending = ending;
		this.#keeper.over();
		this.#wake?.();
	}
}
