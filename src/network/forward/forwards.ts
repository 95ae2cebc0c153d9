import {LongarmError} from '../../shared/errors.js';
import {type IdRefusal, IdTable} from '../../shared/id-table.js';
import {formatSize} from '../../shared/units.js';
import {ByteBudget} from '../byte-budget.js';
import {requireForwardable} from './forward-policy.js';
import type {ForwardScope} from './forward-scopes.js';
import {ForwardedConnection, type ForwardTarget} from './forwarded-connection.js';

/** Forwarded connections of one client at once. */
export const MAX_FORWARDS = 256;
export const MAX_FORWARD_ID_BYTES = 64;
/** Bytes of pending writes of one client; a single write may be larger. */
export const MAX_UNWRITTEN_BYTES = 64 * 1024 * 1024;

/** Forwarded connections of one client, closed with it. */
export class Forwards {
	readonly #scope: ForwardScope;
	readonly #connections = new IdTable<ForwardedConnection>({
		maxEntries: MAX_FORWARDS,
		minIdBytes: 1,
		maxIdBytes: MAX_FORWARD_ID_BYTES,
		toError: (refusal, id) => forwardFailedError(describeIdRefusal(refusal, id)),
	});
	readonly #unwritten = new ByteBudget(MAX_UNWRITTEN_BYTES);

	readonly #owner: unknown;

	/** `owner` is who names are looked up for, see `Asker`. */
	constructor(scope: ForwardScope, owner?: unknown) {
		this.#scope = scope;
		this.#owner = owner;
	}

	/** Undefined if a connection can be opened with this id. */
	findIdRefusal(id: string): IdRefusal | undefined {
		return this.#connections.findRefusal(id);
	}

	/** Resolves when the connection is established. The id is taken at once, so reads and writes may be sent right away. */
	async open(id: string, target: ForwardTarget): Promise<void> {
		requireForwardable(this.#scope, target.host);
		this.#connections.reserve(id);
		let connection: ForwardedConnection | undefined;
		try {
			connection = new ForwardedConnection(target, this.#scope, this.#owner);
			this.#connections.set(id, connection);
			await connection.opened;
		} catch (error) {
			// After end() the id may belong to another connection.
			if (this.#connections.get(id) === connection) this.#connections.delete(id);
			throw error;
		}
	}

	get(id: string): ForwardedConnection {
		const connection = this.#connections.get(id);
		if (connection) return connection;
		throw new LongarmError('FORWARD_UNKNOWN', {message: `unknown forward id ${id}`, context: {forwardId: id}});
	}

	async write(id: string, bytes: Uint8Array, eof: boolean): Promise<void> {
		const connection = this.get(id);
		if (!this.#unwritten.tryReserve(bytes.length)) {
			throw forwardFailedError(`more than ${formatSize(MAX_UNWRITTEN_BYTES)} of writes wait to be taken`);
		}
		try {
			await connection.write(bytes, eof);
		} finally {
			this.#unwritten.release(bytes.length);
		}
	}

	/** Closes a connection at once; no-op for an unknown id. */
	end(id: string): void {
		this.#connections.get(id)?.close();
		this.#connections.delete(id);
	}

	/** Closes all connections, when the client disconnects. */
	close(): void {
		this.#connections.close();
		for (const id of this.#connections.ids()) this.end(id);
	}
}

/** Message for an id that cannot be opened. */
export function describeIdRefusal(refusal: IdRefusal, id: string): string {
	switch (refusal) {
		case 'length':
			return `forwardId must have 1 to ${MAX_FORWARD_ID_BYTES} bytes`;
		case 'closed':
			return 'the connection is closed';
		case 'taken':
			return `forward id ${id} is already open`;
		case 'full':
			return `more than ${MAX_FORWARDS} connections are open`;
	}
}

function forwardFailedError(reason: string): LongarmError {
	return new LongarmError('FORWARD_FAILED', {message: `forwarding failed: ${reason}`});
}
