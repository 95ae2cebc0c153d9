import {LongarmError} from '../../shared/errors.js';
import {formatSize} from '../../shared/units.js';
import {ByteBudget} from '../byte-budget.js';
import {requireForwardable} from './forward-policy.js';
import type {ForwardScope} from './forward-scopes.js';
import {ForwardedConnection, type ForwardTarget} from './forwarded-connection.js';

/** Forwarded connections of one client at once. */
export const MAX_FORWARDS = 256;
/** Bytes of writes that no port has taken yet, of one client; one write always may wait. */
export const UNWRITTEN_BYTES = 64 * 1024 * 1024;

/** The forwarded connections of one client. They end with it. */
export class Forwards {
	readonly #scope: ForwardScope;
	readonly #connections = new Map<string, ForwardedConnection>();
	readonly #unwritten = new ByteBudget(UNWRITTEN_BYTES);

	constructor(scope: ForwardScope) {
		this.#scope = scope;
	}

	has(id: string): boolean {
		return this.#connections.has(id);
	}

	/** Settles when the connection stands. The id is taken at once, so that reads and writes may follow right away. */
	async open(id: string, target: ForwardTarget): Promise<void> {
		requireForwardable(this.#scope, target.host);
		if (this.#connections.size >= MAX_FORWARDS) throw failed(`more than ${MAX_FORWARDS} connections are open`);
		const connection = new ForwardedConnection(target, this.#scope);
		this.#connections.set(id, connection);
		try {
			await connection.opened;
		} catch (error) {
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
		if (!this.#unwritten.add(bytes.length)) {
			throw failed(`more than ${formatSize(UNWRITTEN_BYTES)} of writes wait to be taken`);
		}
		try {
			await connection.write(bytes, eof);
		} finally {
			this.#unwritten.remove(bytes.length);
		}
	}

	/** Ends a connection at once; there may be none. */
	end(id: string): void {
		this.#connections.get(id)?.close();
		this.#connections.delete(id);
	}

	/** The client is gone. */
	close(): void {
		for (const connection of this.#connections.values()) connection.close();
		this.#connections.clear();
	}
}

function failed(reason: string): LongarmError {
	return new LongarmError('FORWARD_FAILED', {message: `forwarding failed: ${reason}`});
}
