import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {METHODS, type ParamsOnWire, type RequestName, type Result} from '../../protocol/methods/method-table.js';
import {decode} from '../../protocol/wire/decode.js';
import type {JsonParts} from '../../protocol/wire/encode.js';
import type {Notification} from '../../protocol/wire/envelope.js';
import {RpcError} from '../../protocol/wire/error-codes.js';
import type {Schema} from '../../protocol/wire/fields.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {RpcConnection} from '../../rpc/rpc-connection.js';
import {holdProgram, releaseProgram} from '../../shared/async/keep-alive.js';
import {abortable, withTimeout} from '../../shared/async/timeout.js';
import type {Transport} from '../../transports/transport.js';
import {AskingTransport} from './asking-transport.js';
import {CallTimeoutError, ProtocolError, RejectedError, TooManyCallsError} from './client-errors.js';
import {type Dialect, detectDialect, initializeResult, withPlainPaths} from './legacy/dialect.js';
import {V0Processes} from './legacy/v0-processes.js';

/** Timeout of `initialize`. */
export const INITIALIZE_TIMEOUT_MS = 10_000;
/** Timeout of `environment/status`. */
const STATUS_TIMEOUT_MS = 10_000;
/** Calls that wait for an answer at a time. */
export const MAX_PENDING_CALLS = 1024;
/** Calls that release resources of the server; one of them is allowed above the limit. */
const CLEANUP_CALLS: ReadonlySet<RequestName> = new Set<RequestName>(['process/terminate', 'fs/close']);
/** Calls that are the same in every dialect, and that the dialect is found out with. */
const UNIVERSAL_CALLS: ReadonlySet<RequestName> = new Set<RequestName>([
	'initialize',
	'environment/info',
	'environment/status',
]);

export interface ConnectionOptions {
	readonly clientName: string;
	readonly initializeTimeoutMs?: number | undefined;
	readonly resumeSessionId?: string | undefined;
	/** Facts from an earlier connection to the same server, which is not asked for them again. */
	readonly known?: ServerDescription | undefined;
	/** Gives the handshake up. */
	readonly signal?: AbortSignal | undefined;
	readonly onNotification: (notification: Notification) => void;
	/** Called once, after every pending call was rejected. */
	readonly onDisconnect: (error: DisconnectedError) => void;
}

/** Facts about a server. */
export interface ServerDescription {
	readonly dialect: Dialect;
	/** Undefined if the server is too old to describe itself. */
	readonly info: EnvironmentInfo | undefined;
	/** Capabilities it announces; empty if it lists none. */
	readonly capabilities: Readonly<Record<string, boolean>>;
}

/** Facts that the handshake yields. */
interface HandshakeResult {
	/** Undefined if the server has no sessions to resume. */
	readonly sessionId: string | undefined;
	/** Undefined if the server has to be asked, see `describe`. */
	readonly description: ServerDescription | undefined;
}

/** One physical connection with a complete handshake. */
export class Connection {
	readonly #rpc: RpcConnection;
	readonly #timeoutMs: number;
	#handshake: HandshakeResult | undefined;
	#describing: Promise<ServerDescription> | undefined;
	#v0: V0Processes | undefined;
	#pending = 0;
	#isReadingPaused = false;

	/** Does the handshake; notifications of a resumed session may come before its end. Closes the transport on failure. */
	static async open(transport: Transport, options: ConnectionOptions): Promise<Connection> {
		const connection = new Connection(transport, options);
		try {
			await abortable(connection.#initialize(options), options.signal);
			return connection;
		} catch (error) {
			connection.destroy();
			throw error;
		}
	}

	private constructor(
		transport: Transport,
		{onNotification, onDisconnect, initializeTimeoutMs = INITIALIZE_TIMEOUT_MS}: ConnectionOptions,
	) {
		this.#timeoutMs = initializeTimeoutMs;
		const asked = transport.asking ? new AskingTransport(transport, () => this.#askForStatus()) : transport;
		this.#rpc = new RpcConnection(asked, 'client', {
			request: ({method}) => {
				throw new Error(`unexpected request ${method}`);
			},
			notification: notification => {
				if (this.#v0) this.#v0.receive(notification);
				else onNotification(notification);
				return true;
			},
			closed: error => {
				// Before the handshake is complete, `open` rejects instead.
				if (this.#handshake) onDisconnect(new DisconnectedError(error));
			},
		});
		this.#rpc.open();
	}

	get isClosed(): boolean {
		return this.#rpc.isClosed;
	}

	get sessionId(): string | undefined {
		return this.#handshake?.sessionId;
	}

	/** Facts about the server, if they are known without asking it. */
	get description(): ServerDescription | undefined {
		return this.#handshake?.description;
	}

	/**
	 * Facts about the server. One whose greeting has none is asked, once: not during the handshake, because an old server
	 * may leave a question it does not know without an answer.
	 */
	async describe(): Promise<ServerDescription> {
		if (this.description) return this.description;
		this.#describing ??= this.#askForDescription();
		return this.#describing;
	}

	async call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		return this.#decode(method, METHODS[method].result, await this.#request(method, params));
	}

	/** Resolves if the server answers. */
	status(): Promise<Result<'environment/status'>> {
		return this.#callWithTimeout(STATUS_TIMEOUT_MS, 'environment/status');
	}

	/** Pauses reading until the returned function is called; calls with a timeout do not expire while it is paused. */
	holdReading(): () => void {
		const resume = this.#rpc.holdReading();
		this.#isReadingPaused = true;
		return () => {
			this.#isReadingPaused = false;
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
		holdProgram();
		try {
			if (!this.description && !UNIVERSAL_CALLS.has(method)) await this.describe();
			const takesUris = this.#v0 !== undefined || (this.description?.dialect ?? 'current') === 'current';
			return await (this.#v0 ?? this.#rpc).request(method, takesUris ? params : withPlainPaths(params));
		} catch (error) {
			throw error instanceof RpcError ? new RejectedError(error) : error;
		} finally {
			this.#pending--;
			releaseProgram();
		}
	}

	#decode<S extends Schema>(method: string, schema: S, result: unknown): ReturnType<typeof decode<S>> {
		try {
			return decode(schema, result);
		} catch (error) {
			throw new ProtocolError(`${method}: ${(error as Error).message}`, {cause: error});
		}
	}

	/** A second clean-up call above the limit closes the connection: the server then releases its resources. */
	#requireRoom(method: RequestName): void {
		if (this.isClosed || this.#pending < MAX_PENDING_CALLS) return;
		if (CLEANUP_CALLS.has(method)) {
			if (this.#pending === MAX_PENDING_CALLS) return;
			this.destroy();
		}
		throw new TooManyCallsError(`exec-server has reached its limit of ${MAX_PENDING_CALLS} pending requests`);
	}

	async #initialize({clientName, resumeSessionId, known, onNotification}: ConnectionOptions): Promise<void> {
		const reply = this.#request('initialize', {clientName, resumeSessionId: resumeSessionId ?? null});
		const result = this.#decode(
			'initialize',
			initializeResult,
			await withReplyTimeout(reply, this.#timeoutMs, 'initialize handshake'),
		);
		const {sessionId, environmentInfo: info} = result;
		if (resumeSessionId !== undefined && sessionId !== resumeSessionId) {
			throw new Error(`exec-server initialized an unexpected session ${sessionId}`);
		}
		this.#rpc.notify('initialized', {});
		const dialect = detectDialect(result);
		if (dialect === 'v0') this.#v0 = new V0Processes(this.#rpc, onNotification);
		this.#handshake = {sessionId, description: dialect ? toDescription(dialect, info) : known};
	}

	async #askForDescription(): Promise<ServerDescription> {
		const description = await this.#askForInfo();
		this.#handshake = {sessionId: this.sessionId, description};
		return description;
	}

	/** A server that refuses the question or leaves it unanswered is older than it. */
	async #askForInfo(): Promise<ServerDescription> {
		try {
			return toDescription('current', await this.#callWithTimeout(this.#timeoutMs, 'environment/info'));
		} catch (error) {
			if (error instanceof RejectedError || error instanceof CallTimeoutError) return toDescription('v1');
			throw error;
		}
	}

	/** Any answer will do, also that of an older server that does not know the method. */
	#askForStatus(): boolean {
		if (!this.#handshake) return false;
		void this.status().catch(() => {});
		return true;
	}

	#callWithTimeout<M extends 'environment/info' | 'environment/status'>(
		timeoutMs: number,
		method: M,
	): Promise<Result<M>> {
		const reply = this.call(method, {});
		return withReplyTimeout(reply, timeoutMs, `\`${method}\` response`, () => this.#isReadingPaused);
	}
}

function toDescription(dialect: Dialect, info?: EnvironmentInfo): ServerDescription {
	return {dialect, info, capabilities: info?.capabilities ?? {}};
}

/** Timeout with a `CallTimeoutError`; it starts over while reading is paused, because the reply may be there unread. */
async function withReplyTimeout<T>(
	reply: Promise<T>,
	timeoutMs: number,
	what: string,
	isReadingPaused = () => false,
): Promise<T> {
	const onTimeout = async (): Promise<T> => {
		if (isReadingPaused()) return withTimeout(reply, timeoutMs, onTimeout);
		throw new CallTimeoutError(`timed out waiting for exec-server ${what} after ${timeoutMs / 1000}s`);
	};
	return withTimeout(reply, timeoutMs, onTimeout);
}
