import {connect, type Socket} from 'node:net';
import {Mutex} from '../../shared/async/mutex.js';
import {LongarmError} from '../../shared/errors.js';
import {BoundedReader} from '../../shared/node/bounded-reader.js';
import {isServedHere} from '../../transports/node/own-addresses.js';
import {describeNetworkError} from '../network-failures.js';
import {createAllowedLookup, ownListenerError} from './forward-policy.js';
import type {ForwardScope} from './forward-scopes.js';

/** Bytes read ahead from the port and not yet requested by the client. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
/** A target that vanishes while nothing is in flight is noticed by the kernel: nothing asks it. */
const KEEP_ALIVE = {keepAlive: true, keepAliveInitialDelay: 15_000} as const;
/** Pending reads of one connection. */
export const MAX_PENDING_READS = 64;

export interface ForwardTarget {
	readonly host: string;
	readonly port: number;
}

/** Result of one read; at the end every read is empty with `eof`. */
export interface ForwardedPiece {
	readonly bytes: Buffer;
	readonly eof: boolean;
}

/** TCP connection to a port, with half-close: each direction ends by itself. */
export class ForwardedConnection {
	/** Resolves when the connection is established. */
	readonly opened: Promise<void>;
	readonly #socket: Socket;
	readonly #reader: BoundedReader;
	readonly #reads = new Mutex();
	#pendingReads = 0;
	#failure: Error | undefined;
	/** Aborted with the connection, so that no lookup of it waits any longer. */
	readonly #closing = new AbortController();

	/** `owner` is who the name is looked up for, see `Asker`. */
	constructor({host, port}: ForwardTarget, scope: ForwardScope, owner?: unknown) {
		const lookup = createAllowedLookup(scope, {owner, signal: this.#closing.signal});
		const socket = connect({host, port, allowHalfOpen: true, noDelay: true, lookup, ...KEEP_ALIVE});
		this.#socket = socket;
		this.#reader = new BoundedReader(socket, MAX_BUFFERED_BYTES);
		this.opened = new Promise((resolve, reject) => {
			socket.once('connect', () => {
				if (isServedHere(socket.remoteAddress ?? '', port)) socket.destroy(ownListenerError(host));
				else resolve();
			});
			socket.on('error', error => {
				this.#failure ??= error;
				reject(toForwardError(error));
			});
			// The only event of a connection that is closed before it is established.
			socket.once('close', () => reject(toForwardError(this.#failure ?? connectionClosedError())));
		});
		this.opened.catch(() => {});
	}

	/**
	 * Waits for bytes if none are buffered; reads are served one at a time, in the order of the calls. `deliver` calls
	 * `take` once it can accept the number of bytes, so the buffer holds them until then.
	 */
	read<T>(maxBytes: number, deliver: (bytes: number, take: () => ForwardedPiece) => Promise<T>): Promise<T> {
		if (this.#pendingReads >= MAX_PENDING_READS) {
			return Promise.reject(toForwardError(new Error(`more than ${MAX_PENDING_READS} reads wait for this connection`)));
		}
		this.#pendingReads++;
		const read = this.#reads.run(async () => {
			try {
				await this.#reader.waitForData();
			} catch (error) {
				throw toForwardError(this.#failure ?? error);
			}
			return deliver(Math.min(maxBytes, this.#reader.bytes), () => this.#take(maxBytes));
		});
		return read.finally(() => this.#pendingReads--);
	}

	/** Resolves when the bytes were handed to the system. Writes keep the order of the calls. */
	write(bytes: Uint8Array, eof: boolean): Promise<void> {
		return new Promise((resolve, reject) => {
			const onWritten = (error?: Error | null): void => {
				if (error) reject(toForwardError(this.#failure ?? error));
				else resolve();
			};
			if (this.#failure) onWritten(this.#failure);
			else if (this.#socket.writableEnded) onWritten(new Error('nothing can be written after eof'));
			else if (this.#socket.destroyed) onWritten(connectionClosedError());
			else if (eof) this.#socket.end(bytes, onWritten);
			else this.#socket.write(bytes, onWritten);
		});
	}

	/** Ends both directions at once; pending reads and writes reject. */
	close(): void {
		this.#failure ??= connectionClosedError();
		this.#reader.fail(this.#failure);
		this.#closing.abort();
		this.#socket.destroy();
	}

	#take(maxBytes: number): ForwardedPiece {
		const bytes = this.#reader.take(maxBytes);
		return {bytes, eof: bytes.length === 0};
	}
}

function connectionClosedError(): Error {
	return new Error('the forwarded connection was closed');
}

function toForwardError(error: unknown): LongarmError {
	if (error instanceof LongarmError) return error;
	return new LongarmError('FORWARD_FAILED', {
		message: `forwarding failed: ${describeNetworkError(error)}`,
		cause: error,
	});
}
