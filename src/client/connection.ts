import {decode} from '../protocol/decode.js';
import type {JsonParts} from '../protocol/encode.js';
import type {Notification} from '../protocol/envelope.js';
import {RpcError} from '../protocol/error-codes.js';
import {METHODS, type ParamsOnWire, type RequestName, type Result} from '../protocol/methods.js';
import {DisconnectedError, RpcConnection} from '../rpc/connection.js';
import type {Transport} from '../transports/transport.js';
import {ProtocolError, RejectedError, TooManyCallsError} from './errors.js';

/** How long the server may take for the handshake. */
export const INITIALIZE_TIMEOUT_MS = 10_000;
/** Calls that may wait for an answer at a time. */
export const MOST_PENDING_CALLS = 1024;
/** What has to get through even then, one at a time: it gives the server's resources back. */
const CLEANUP_CALLS: ReadonlySet<RequestName> = new Set<RequestName>(['process/terminate', 'fs/close']);

export interface ConnectionOptions {
	readonly clientName: string;
	readonly initializeTimeoutMs?: number | undefined;
	readonly resumeSessionId?: string | undefined;
	readonly notified: (notification: Notification) => void;
	/** Comes once, when every call that was under way has failed. */
	readonly disconnected: (error: DisconnectedError) => void;
}

/** One physical connection whose handshake is over. */
export class Connection {
	readonly #rpc: RpcConnection;
	#hello: Result<'initialize'> | undefined;
	#pending = 0;

	/** Reads before the first word: a resumed session may have much to say. Closes the transport on failure. */
	static async open(transport: Transport, options: ConnectionOptions): Promise<Connection> {
		const connection = new Connection(transport, options);
		try {
			await connection.#initialize(options);
			return connection;
		} catch (error) {
			connection.destroy();
			throw error;
		}
	}

	private constructor(transport: Transport, {notified, disconnected}: ConnectionOptions) {
		this.#rpc = new RpcConnection(transport, 'client', {
			request: ({method}) => {
				throw new Error(`unexpected request ${method}`);
			},
			notification: notification => {
				notified(notification);
				return true;
			},
			closed: error => {
				// Before the handshake is over, opening it fails and that is all.
				if (this.#hello) disconnected(new DisconnectedError(error));
			},
		});
		this.#rpc.open();
	}

	get isClosed(): boolean {
		return this.#rpc.closed;
	}

	get hello(): Result<'initialize'> {
		return this.#hello!;
	}

	async call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		this.#requireRoom(method);
		this.#pending++;
		let result: unknown;
		try {
			result = await this.#rpc.request(method, params);
		} catch (error) {
			throw error instanceof RpcError ? new RejectedError(error) : error;
		} finally {
			this.#pending--;
		}
		try {
			return decode(METHODS[method].result, result);
		} catch (error) {
			throw new ProtocolError(`${method}: ${(error as Error).message}`, {cause: error});
		}
	}

	close(): void {
		this.#rpc.close();
	}

	/** A clean-up nobody can ask for any more is left to the server, which ends what the connection held. */
	#requireRoom(method: RequestName): void {
		if (this.isClosed || this.#pending < MOST_PENDING_CALLS) return;
		if (CLEANUP_CALLS.has(method)) {
			if (this.#pending === MOST_PENDING_CALLS) return;
			this.destroy();
		}
		throw new TooManyCallsError(`exec-server has reached its limit of ${MOST_PENDING_CALLS} pending requests`);
	}

	destroy(): void {
		this.#rpc.destroy();
	}

	async #initialize({clientName, resumeSessionId, initializeTimeoutMs}: ConnectionOptions): Promise<void> {
		const hello = this.call('initialize', {clientName, resumeSessionId: resumeSessionId ?? null});
		const {sessionId, ...rest} = await within(initializeTimeoutMs ?? INITIALIZE_TIMEOUT_MS, hello);
		if (resumeSessionId !== undefined && sessionId !== resumeSessionId) {
			throw new Error(`exec-server initialized an unexpected session ${sessionId}`);
		}
		this.#hello = {sessionId, ...rest};
		this.#rpc.notify('initialized', {});
	}
}

/** The server did not answer the handshake in time; it may another time. */
export class InitializeTimeoutError extends Error {
	override readonly name = 'InitializeTimeoutError';
}

async function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<never>((_resolve, reject) => {
		const message = `timed out waiting for exec-server initialize handshake after ${timeoutMs / 1000}s`;
		timer = setTimeout(() => reject(new InitializeTimeoutError(message)), timeoutMs);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}
