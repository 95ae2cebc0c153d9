import type {Params} from '../../protocol/methods/method-table.js';
import {holdProgramFor} from '../../shared/async/keep-alive.js';
import type {SessionClient} from '../session/session-client.js';
import {HttpError, type HttpErrorCode} from './http-error.js';

/** Unread deltas of one body. */
export const MAX_QUEUED_DELTAS = 256;
/** Unread bytes of all bodies of a client. */
export const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/** Size of a single delta; a larger one is a protocol violation and closes the connection. */
export const MAX_BODY_DELTA_BYTES = 1024 * 1024;

type Delta = Params<'http/request/bodyDelta'>;

/** Response bodies one client is receiving. The server pushes them, so the queues of unread deltas are bounded. */
export class BodyStreams {
	readonly #streams = new Map<string, BodyStream>();
	#last = 0;
	#queuedBytes = 0;

	/** One instance per client, because ids and the memory bound belong to the client. */
	static forClient(client: SessionClient): BodyStreams {
		const known = OF_CLIENTS.get(client);
		if (known) return known;
		const streams = new BodyStreams(client);
		OF_CLIENTS.set(client, streams);
		return streams;
	}

	private constructor(client: SessionClient) {
		client.on('http/request/bodyDelta', delta => this.#receive(delta));
		client.onDisconnect(({message}) => {
			for (const stream of this.#streams.values()) stream.fail('disconnected', message);
		});
	}

	/** Registers a stream under a new id, before the request is sent, so that no delta is missed. */
	open(): BodyStream {
		const id = `http-${++this.#last}`;
		const stream = new BodyStream(id, {
			reserve: bytes => {
				if (this.#queuedBytes + bytes > MAX_QUEUED_BYTES) return false;
				this.#queuedBytes += bytes;
				return true;
			},
			release: bytes => {
				this.#queuedBytes -= bytes;
			},
			onEnd: () => this.#streams.delete(id),
		});
		this.#streams.set(id, stream);
		return stream;
	}

	/** Deltas of unknown streams are ignored; one that is too large is a protocol violation in any case. */
	#receive(delta: Delta): void {
		if (delta.deltaBase64.length > MAX_BODY_DELTA_BYTES) {
			throw new Error(`http response body delta exceeds ${MAX_BODY_DELTA_BYTES} bytes`);
		}
		this.#streams.get(delta.requestId)?.receive(delta);
	}
}

const OF_CLIENTS = new WeakMap<SessionClient, BodyStreams>();

interface BodyStreamOwner {
	/** Counts unread bytes; false if they exceed the bound, and then they are not counted. */
	reserve(bytes: number): boolean;
	release(bytes: number): void;
	/** Called once, after the last delta. */
	onEnd(): void;
}

type Ending = {readonly kind: 'done'} | {readonly kind: 'failed'; readonly error: HttpError};

/** Queue of one response body. Bytes from before an end or a failure are read before it. */
export class BodyStream {
	readonly id: string;
	readonly #owner: BodyStreamOwner;
	readonly #queue: Uint8Array[] = [];
	#expected = 1;
	#ending: Ending | undefined;
	#wake: (() => void) | undefined;
	#check: ReturnType<typeof setTimeout> | undefined;

	constructor(id: string, keeper: BodyStreamOwner) {
		this.id = id;
		this.#owner = keeper;
	}

	/** True if the server sends nothing more for it. */
	get isEnded(): boolean {
		return this.#ending !== undefined;
	}

	receive({seq, deltaBase64: bytes, done, error}: Delta): void {
		if (seq !== this.#expected) {
			this.#endWithError('invalid-data', `received seq ${seq}, expected ${this.#expected}`);
			return;
		}
		this.#expected++;
		if (error !== undefined && error !== null) this.fail('failed', error);
		else if (bytes.length > 0) this.#enqueue(bytes);
		if (done) this.#end({kind: 'done'});
	}

	/** Ends the body with an error, which is read after the bytes that arrived before. */
	fail(code: HttpErrorCode, reason: string): void {
		this.#endWithError(code, `failed: ${reason}`);
	}

	/** The next bytes; undefined at the end. */
	async next(): Promise<Uint8Array | undefined> {
		while (this.#queue.length === 0 && !this.#ending) {
			await holdProgramFor(
				new Promise<void>(resolve => {
					this.#wake = resolve;
				}),
			);
		}
		const bytes = this.#queue.shift();
		if (bytes) this.#owner.release(bytes.length);
		else if (this.#ending?.kind === 'failed') throw this.#ending.error;
		return bytes;
	}

	/** Drops unread bytes when the reader is gone. */
	close(): void {
		this.#end({kind: 'done'});
		clearTimeout(this.#check);
		for (const bytes of this.#queue.splice(0)) this.#owner.release(bytes.length);
	}

	#enqueue(bytes: Uint8Array): void {
		if (!this.#owner.reserve(bytes.length)) {
			this.fail('overrun', `queued body deltas exceed ${MAX_QUEUED_BYTES} bytes`);
			return;
		}
		this.#queue.push(bytes);
		this.#wake?.();
		// Deferred check: many small deltas may arrive in one turn of the event loop, in which no reader can take any.
		if (this.#queue.length > MAX_QUEUED_DELTAS) this.#check ??= setTimeout(() => this.#failIfOverrun());
	}

	/** A complete body may stay queued: it does not grow any more. */
	#failIfOverrun(): void {
		this.#check = undefined;
		if (this.#ending || this.#queue.length <= MAX_QUEUED_DELTAS) return;
		for (const bytes of this.#queue.splice(MAX_QUEUED_DELTAS)) this.#owner.release(bytes.length);
		this.fail('overrun', 'body delta channel filled before delivery');
	}

	#endWithError(code: HttpErrorCode, what: string): void {
		this.#end({kind: 'failed', error: new HttpError(code, `http response stream \`${this.id}\` ${what}`)});
	}

	#end(ending: Ending): void {
		if (this.#ending) return;
		this.#ending = ending;
		this.#owner.onEnd();
		this.#wake?.();
	}
}
