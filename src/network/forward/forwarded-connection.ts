import {connect, type Socket} from 'node:net';
import {LongarmError} from '../../shared/errors.js';
import {BoundedReader} from '../../shared/node/bounded-reader.js';
import {reasonOf} from '../network-failures.js';
import {allowedLookup} from './forward-policy.js';
import type {ForwardScope} from './forward-scopes.js';

/** Bytes read from the port ahead of whoever asks for them. */
const AHEAD_BYTES = 1024 * 1024;
/** Reads of one connection that may wait at once. */
export const MAX_READS = 64;

export interface ForwardTarget {
	readonly host: string;
	readonly port: number;
}

/** What one read gets; at the end nothing, again and again. */
export interface ForwardedPiece {
	readonly bytes: Buffer;
	readonly eof: boolean;
}

/** A TCP connection to a port, each direction of which ends by itself. */
export class ForwardedConnection {
	/** Settles when the connection stands. */
	readonly opened: Promise<void>;
	readonly #socket: Socket;
	readonly #reader: BoundedReader;
	#lastRead: Promise<unknown> = Promise.resolve();
	#reads = 0;
	#failure: Error | undefined;

	constructor({host, port}: ForwardTarget, scope: ForwardScope) {
		const socket = connect({host, port, allowHalfOpen: true, noDelay: true, lookup: allowedLookup(scope)});
		this.#socket = socket;
		this.#reader = new BoundedReader(socket, AHEAD_BYTES);
		this.opened = new Promise((resolve, reject) => {
			socket.once('connect', resolve);
			socket.on('error', error => {
				this.#failure ??= error;
				reject(asFailure(error));
			});
			// A connection that is closed while it is made tells nothing else.
			socket.once('close', () => reject(asFailure(this.#failure ?? closedHere())));
		});
		this.opened.catch(() => {});
	}

	/**
	 * What has arrived, waited for if nothing has; reads get their turn in the order of asking. `deliver` takes it when
	 * it has room for so many bytes.
	 */
	read<T>(maxBytes: number, deliver: (bytes: number, take: () => ForwardedPiece) => Promise<T>): Promise<T> {
		if (this.#reads >= MAX_READS) {
			return Promise.reject(asFailure(new Error(`more than ${MAX_READS} reads wait for this connection`)));
		}
		this.#reads++;
		const read = this.#lastRead.then(async () => {
			try {
				await this.#reader.waitForData();
			} catch (error) {
				throw asFailure(this.#failure ?? error);
			}
			return deliver(Math.min(maxBytes, this.#reader.bytes), () => this.#take(maxBytes));
		});
		const over = (): void => void this.#reads--;
		this.#lastRead = read.then(over, over);
		return read;
	}

	/** Settles when the system has taken the bytes. They go out in the order of calling. */
	write(bytes: Uint8Array, eof: boolean): Promise<void> {
		return new Promise((resolve, reject) => {
			const written = (error?: Error | null): void => {
				if (error) reject(asFailure(this.#failure ?? error));
				else resolve();
			};
			if (this.#failure) written(this.#failure);
			else if (this.#socket.writableEnded) written(new Error('nothing can be written after eof'));
			else if (this.#socket.destroyed) written(closedHere());
			else if (eof) this.#socket.end(bytes, written);
			else this.#socket.write(bytes, written);
		});
	}

	/** Ends both directions at once; whoever waits is told. */
	close(): void {
		this.#failure ??= closedHere();
		this.#reader.fail(this.#failure);
		this.#socket.destroy();
	}

	#take(maxBytes: number): ForwardedPiece {
		const bytes = this.#reader.take(maxBytes);
		return {bytes, eof: bytes.length === 0};
	}
}

function closedHere(): Error {
	return new Error('the forwarded connection was closed');
}

function asFailure(error: unknown): LongarmError {
	if (error instanceof LongarmError) return error;
	return new LongarmError('FORWARD_FAILED', {message: `forwarding failed: ${reasonOf(error)}`, cause: error});
}
