import type {RequestName} from '../../protocol/methods/method-table.js';
import type {Request, RequestId} from '../../protocol/wire/envelope.js';
import {LongarmError} from '../../shared/errors.js';

/** Pending requests of one connection, waiting ones excluded; beyond it the connection is not read. */
export const MAX_PENDING_REQUESTS = 4096;
/** Waiting requests of one connection; more than the processes a server runs by default. */
export const MAX_WAITING_REQUESTS = 16_384;
/** Waiting requests of all connections of one token; connections without a token count together. */
export const MAX_WAITING_REQUESTS_PER_TOKEN = 32_768;
/** Every further so many characters of its id let a request count once more: the id is kept for the reply. */
const ID_CHARACTERS_PER_COUNT = 1024;

/**
 * Requests that last as long as a process, a peer or an origin pleases. They are refused at their bound instead of
 * stopping the connection: the signal or the input that ends them comes on the same one.
 */
const WAITING_METHODS: ReadonlySet<string> = new Set<RequestName>([
	'process/wait',
	'environment/upgrade',
	'process/waitFor',
	'process/read',
	'process/logs',
	'process/write',
	'command/exec/write',
	'forward/open',
	'forward/read',
	'forward/write',
	'fs/search',
	'http/request',
]);

/** Of these, methods that wait only if they are told how long. */
const TIMED_METHODS: ReadonlySet<string> = new Set<RequestName>(['process/read', 'process/logs']);

/** Counts the waiting requests of every account. */
export class WaitingRequests {
	readonly #counts = new Map<string | undefined, number>();

	get(account: string | undefined): number {
		return this.#counts.get(account) ?? 0;
	}

	add(account: string | undefined, change: number): void {
		const count = this.get(account) + change;
		if (count === 0) this.#counts.delete(account);
		else this.#counts.set(account, count);
	}
}

export interface PendingRequestsOptions {
	/** Name of the token; undefined without one. */
	readonly token: string | undefined;
	/** See `accountOf`. */
	readonly account: string | undefined;
	readonly waiting: WaitingRequests;
	/** Stops reading the connection until the returned function is called. */
	readonly holdReading: () => () => void;
	/** Length of the pending requests of the connection, which may be kept until they are answered. */
	readonly maxLength: () => number;
}

/** Bounds the requests of one connection that are not answered yet, and with them the memory they take. */
export class PendingRequests {
	readonly #options: PendingRequestsOptions;
	#pending = 0;
	#pendingLength = 0;
	#waiting = 0;
	#resumeReading: (() => void) | undefined;
	#isClosed = false;
	#idleListeners: (() => void)[] = [];

	constructor(options: PendingRequestsOptions) {
		this.#options = options;
	}

	/** Every request was answered but those that may wait. */
	get isIdle(): boolean {
		return this.#pending === 0;
	}

	/** Settles when every request that does not wait for something was answered, or the connection has closed. */
	whenIdle(): Promise<void> {
		if (this.isIdle || this.#isClosed) return Promise.resolve();
		return new Promise(resolve => this.#idleListeners.push(resolve));
	}

	/** Runs a request and counts it until it is answered; refuses one that may wait when too many do. */
	run(request: Request, length: number, handle: () => unknown): unknown {
		const count = mayWait(request) ? countOf(request.id) : 0;
		if (count > 0) this.#requireRoom(count);
		const result = handle();
		if (!(result instanceof Promise) || this.#isClosed) return result;
		this.#begin(count, length);
		const end = (): void => this.#end(count, length);
		result.then(end, end);
		return result;
	}

	/** Call when the connection has closed: requests that were cut off never settle. */
	close(): void {
		this.#isClosed = true;
		this.#options.waiting.add(this.#options.account, -this.#waiting);
		this.#waiting = 0;
		this.#notifyIdle();
	}

	#requireRoom(count: number): void {
		const {waiting, token, account} = this.#options;
		if (this.#waiting + count > MAX_WAITING_REQUESTS) throw tooManyError('this connection', MAX_WAITING_REQUESTS);
		if (waiting.get(account) + count <= MAX_WAITING_REQUESTS_PER_TOKEN) return;
		const holder = token === undefined ? 'the connections without a token' : `the token ${token}`;
		throw tooManyError(holder, MAX_WAITING_REQUESTS_PER_TOKEN);
	}

	#begin(count: number, length: number): void {
		if (count > 0) {
			this.#waiting += count;
			this.#options.waiting.add(this.#options.account, count);
			return;
		}
		this.#pending++;
		this.#pendingLength += length;
		if (!this.#hasRoom) this.#resumeReading ??= this.#options.holdReading();
	}

	get #hasRoom(): boolean {
		// A single request may be longer, such as one that writes a file.
		return (
			this.#pending <= 1 || (this.#pending <= MAX_PENDING_REQUESTS && this.#pendingLength <= this.#options.maxLength())
		);
	}

	/** In a later turn: the reply is sent behind this promise. */
	#notifyIdle(): void {
		for (const resolve of this.#idleListeners.splice(0)) setImmediate(resolve);
	}

	#end(count: number, length: number): void {
		if (this.#isClosed) return;
		if (count > 0) {
			this.#waiting -= count;
			this.#options.waiting.add(this.#options.account, -count);
			return;
		}
		this.#pending--;
		this.#pendingLength -= length;
		if (this.isIdle) this.#notifyIdle();
		if (!this.#hasRoom) return;
		const resume = this.#resumeReading;
		this.#resumeReading = undefined;
		resume?.();
	}
}

function mayWait({method, params}: Request): boolean {
	if (!WAITING_METHODS.has(method)) return false;
	return !TIMED_METHODS.has(method) || !!(params as {waitMs?: unknown} | null | undefined)?.waitMs;
}

function countOf(id: RequestId): number {
	return typeof id === 'string' ? 1 + Math.floor(id.length / ID_CHARACTERS_PER_COUNT) : 1;
}

function tooManyError(holder: string, limit: number): LongarmError {
	return new LongarmError('REQUEST_LIMIT', {
		message: `${limit} requests of ${holder} are waiting already`,
		context: {limit},
	});
}
