import {isStillAttached} from '../../../client/session/recovery.js';
import {RpcError} from '../../../protocol/wire/error-codes.js';
import {Deferred} from '../../../shared/async/deferred.js';
import type {Transport, TransportEvents} from '../../../transports/transport.js';
import type {BridgedMessage} from './bridge-ledger.js';

/** Bytes of messages that are held until missed events have been passed on. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** In front of the ids of requests of our own. */
const OWN_IDS = 'longarm-bridge-';

/** An error answer that another attempt would get, too. */
class RefusedError extends Error {
	override readonly name = 'RefusedError';
	readonly isFinal = true;
}

export interface HeldMessage {
	readonly message: BridgedMessage;
	readonly text: string;
}

/** One connection to the server, with requests of the bridge's own on it. */
export class BridgeLink {
	readonly transport: Transport;
	/** Settles when the connection has ended, with the reason if there was one. */
	readonly closed: Promise<Error | undefined>;
	isClosed = false;
	readonly #events: Pick<TransportEvents, 'message' | 'drained'>;
	readonly #closed = new Deferred<Error | undefined>();
	readonly #calls = new Map<string, Deferred<unknown>>();
	#held: HeldMessage[] = [];
	#heldBytes = 0;
	#nextId = 0;

	constructor(transport: Transport, events: Pick<TransportEvents, 'message' | 'drained'>) {
		this.transport = transport;
		this.#events = events;
		this.closed = this.#closed.promise;
	}

	open(): void {
		this.transport.open({
			...this.#events,
			message: (text, payload) => this.#events.message(text, payload),
			unreadable: () => this.transport.destroy(),
			drained: () => this.#events.drained(),
			closed: error => {
				this.isClosed = true;
				this.#closed.resolve(error);
				const reason = error ?? new Error('the server closed the connection');
				for (const call of this.#calls.values()) call.reject(reason);
			},
		});
	}

	async call(method: string, params: object): Promise<unknown> {
		const id = `${OWN_IDS}${this.#nextId++}`;
		const call = new Deferred<unknown>();
		this.#calls.set(id, call);
		this.transport.send(JSON.stringify({id, method, params}));
		return call.promise;
	}

	/** Whether the message answers a request of the bridge itself; `text` is the whole of it, with long values in place. */
	isAnswer({id, method, error}: BridgedMessage, text: string): boolean {
		const call = method === undefined && typeof id === 'string' ? this.#calls.get(id) : undefined;
		if (!call) return false;
		this.#calls.delete(id as string);
		if (error === undefined) call.resolve((JSON.parse(text) as BridgedMessage).result);
		else call.reject(toError(error as {code?: unknown; message?: unknown}));
		return true;
	}

	/** Keeps a message until the client has what came before it. */
	hold(message: BridgedMessage, text: string): void {
		this.#held.push({message, text});
		this.#heldBytes += text.length;
		if (this.#heldBytes > MAX_HELD_BYTES) this.transport.destroy();
	}

	release(): readonly HeldMessage[] {
		const held = this.#held;
		this.#held = [];
		this.#heldBytes = 0;
		return held;
	}
}

/** The server may not have seen yet that the former connection has ended. */
function toError({code, message}: {code?: unknown; message?: unknown}): Error {
	const error = new RpcError(Number(code), String(message));
	return isStillAttached(error) ? error : new RefusedError(String(message), {cause: error});
}
