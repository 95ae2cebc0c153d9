import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {METHODS, type ParamsOnWire, type RequestName, type Result} from '../../protocol/methods/method-table.js';
import {decode} from '../../protocol/wire/decode.js';
import type {JsonParts} from '../../protocol/wire/encode.js';
import type {Notification} from '../../protocol/wire/envelope.js';
import {METHOD_NOT_FOUND, RpcError} from '../../protocol/wire/error-codes.js';
import type {Schema} from '../../protocol/wire/fields.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {RpcConnection} from '../../rpc/rpc-connection.js';
import type {Transport} from '../../transports/transport.js';
import {CallTimeoutError, ProtocolError, RejectedError, TooManyCallsError} from './client-errors.js';
import {type Dialect, dialectOf, serverHandshake} from './handshake.js';
import {withPlainPaths} from './legacy/plain-paths.js';
import {V0Processes} from './legacy/v0-processes.js';

/** How long the server may take for the handshake. */
export const INITIALIZE_TIMEOUT_MS = 10_000;
/** And to describe itself, and to say that it is there. */
const INFO_TIMEOUT_MS = 30_000;
const STATUS_TIMEOUT_MS = 10_000;
/** Calls that may wait for an answer at a time. */
export const MAX_PENDING_CALLS = 1024;
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

/** What is known of the server after the handshake. */
export interface HandshakeResult {
	/** Undefined where the server has no sessions to resume. */
	readonly sessionId: string | undefined;
	readonly dialect: Dialect;
	/** Undefined where the server cannot say. */
	readonly info: EnvironmentInfo | undefined;
}

/** One physical connection whose handshake is over. */
export class Connection {
	readonly #rpc: RpcConnection;
	#greeting: HandshakeResult | undefined;
	#v0: V0Processes | undefined;
	#pending = 0;
	/** Whether answers are left unread for now. */
	#isHeld = false;

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
				if (this.#v0) this.#v0.hear(notification);
				else notified(notification);
				return true;
			},
			closed: error => {
				// Before the handshake is over, opening it fails and that is all.
				if (this.#greeting) disconnected(new DisconnectedError(error));
			},
		});
		this.#rpc.open();
	}

	get isClosed(): boolean {
		return this.#rpc.closed;
	}

	get handshake(): HandshakeResult {
		return this.#greeting!;
	}

	async call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		return this.#decoded(method, METHODS[method].result, await this.#request(method, params));
	}

	/** How the server describes itself now. */
	info(): Promise<EnvironmentInfo> {
		return this.#within(INFO_TIMEOUT_MS, 'environment/info');
	}

	/** That the server is there. */
	status(): Promise<Result<'environment/status'>> {
		return this.#within(STATUS_TIMEOUT_MS, 'environment/status');
	}

	/** Reads nothing more until the returned function is called; what has a time limit waits for that, too. */
	holdReading(): () => void {
		const resume = this.#rpc.holdReading();
		this.#isHeld = true;
		return () => {
			this.#isHeld = false;
			resume();
		};
	}

	close(): void {
		this.#rpc.close();
	}

	destroy(): void {
		this.#rpc.destroy();
	}

	async #request(method: RequestName, params: unknown): Promise<unknown> {
		this.#requireRoom(method);
		this.#pending++;
		try {
			const takesUris = this.#v0 !== undefined || (this.#greeting?.dialect ?? 'current') === 'current';
			return await (this.#v0 ?? this.#rpc).request(method, takesUris ? params : withPlainPaths(params));
		} catch (error) {
			throw error instanceof RpcError ? new RejectedError(error) : error;
		} finally {
			this.#pending--;
		}
	}

	#decoded<S extends Schema>(method: string, schema: S, result: unknown): ReturnType<typeof decode<S>> {
		try {
			return decode(schema, result);
		} catch (error) {
			throw new ProtocolError(`${method}: ${(error as Error).message}`, {cause: error});
		}
	}

	/** A clean-up nobody can ask for any more is left to the server, which ends what the connection held. */
	#requireRoom(method: RequestName): void {
		if (this.isClosed || this.#pending < MAX_PENDING_CALLS) return;
		if (CLEANUP_CALLS.has(method)) {
			if (this.#pending === MAX_PENDING_CALLS) return;
			this.destroy();
		}
		throw new TooManyCallsError(`exec-server has reached its limit of ${MAX_PENDING_CALLS} pending requests`);
	}

	async #initialize({clientName, resumeSessionId, initializeTimeoutMs, notified}: ConnectionOptions): Promise<void> {
		const timeoutMs = initializeTimeoutMs ?? INITIALIZE_TIMEOUT_MS;
		const answer = this.#request('initialize', {clientName, resumeSessionId: resumeSessionId ?? null});
		const result = await withTimeLimit(timeoutMs, 'initialize handshake', answer);
		const hello = this.#decoded('initialize', serverHandshake, result);
		const {sessionId} = hello;
		if (resumeSessionId !== undefined && sessionId !== resumeSessionId) {
			throw new Error(`exec-server initialized an unexpected session ${sessionId}`);
		}
		this.#rpc.notify('initialized', {});
		const dialect = dialectOf(hello);
		if (dialect === 'v0') this.#v0 = new V0Processes(this.#rpc, notified);
		const info = hello.environmentInfo ?? (dialect === undefined ? await this.#infoIfKnown() : undefined);
		this.#greeting = {sessionId, info, dialect: dialect ?? (info ? 'current' : 'v1')};
	}

	async #infoIfKnown(): Promise<EnvironmentInfo | undefined> {
		try {
			return await this.info();
		} catch (error) {
			if (error instanceof RejectedError && error.code === METHOD_NOT_FOUND) return undefined;
			throw error;
		}
	}

	#within<M extends 'environment/info' | 'environment/status'>(timeoutMs: number, method: M): Promise<Result<M>> {
		return withTimeLimit(timeoutMs, `\`${method}\` response`, this.call(method, {}), () => this.#isHeld);
	}
}

/** The server may answer another time. */
async function withTimeLimit<T>(
	timeoutMs: number,
	what: string,
	promise: Promise<T>,
	isHeld = () => false,
): Promise<T> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<never>((_resolve, reject) => {
		const message = `timed out waiting for exec-server ${what} after ${timeoutMs / 1000}s`;
		// An answer that nobody reads is not late.
		const look = (): void => {
			if (isHeld()) wait();
			else reject(new CallTimeoutError(message));
		};
		const wait = (): void => {
			timer = setTimeout(look, timeoutMs);
		};
		wait();
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}
