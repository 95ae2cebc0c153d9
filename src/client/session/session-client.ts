import {
	METHODS,
	type NotificationName,
	type Params,
	type ParamsOnWire,
	type RequestName,
	type Result,
} from '../../protocol/methods/method-table.js';
import {decode} from '../../protocol/wire/decode.js';
import type {JsonParts} from '../../protocol/wire/encode.js';
import type {Notification} from '../../protocol/wire/envelope.js';
import {INVALID_REQUEST, RpcError} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {Deferred} from '../../shared/async/deferred.js';
import {holdProgramFor} from '../../shared/async/keep-alive.js';
import {Semaphore} from '../../shared/async/semaphore.js';
import {type OptionTable, readOptions, type WithDurations} from '../../shared/call-options.js';
import type {Transport} from '../../transports/transport.js';
import type {
	Processes,
	ProcessHandle,
	StartedProcess,
	StartOptions,
	StartParams,
	UnattachedProcess,
} from '../process/process-handle.js';
import type {ProcessSession} from '../process/process-session.js';
import {RemoteProcess} from '../process/remote-process.js';
import {RemoteReference} from '../process/remote-reference.js';
import type {AttachProcessOptions, ListedProcess, ListProcessesOptions} from '../process/shared-process.js';
import {startWithSignal} from '../process/start-with-signal.js';
import {ProcessAttacher} from './attach-process.js';
import {RejectedError} from './client-errors.js';
import {Connection, INITIALIZE_TIMEOUT_MS, type ServerDescription} from './connection.js';
import {listProcesses} from './list-processes.js';
import {openUnlessAttached} from './open-unless-attached.js';
import {prepareStart} from './prepare-start.js';
import {ProcessRegistry} from './process-registry.js';
import {ReadPauser} from './read-pauser.js';
import {recover} from './recovery.js';

/** Opens a connection; called again when it is lost. The signal is aborted when the time limit is over. */
export type Connect = (signal?: AbortSignal) => Promise<Transport>;

/** Options of a `SessionClient`. */
export interface SessionClientOptions {
	readonly clientName?: string;
	readonly initializeTimeoutMs?: number;
	/** Reconnects and resumes the session after a lost connection; on by default. */
	readonly recovers?: boolean;
	/** Time limit of that; `RECOVERY_BUDGET_MS` by default. */
	readonly recoveryBudgetMs?: number;
	/** Carries on the session of an earlier client, which has left. */
	readonly resumeSessionId?: string | undefined;
	/** Gives up opening the session; `close` ends it afterwards. */
	readonly signal?: AbortSignal;
}

export const SESSION_OPTIONS: OptionTable<SessionClientOptions> = {
	clientName: 'text',
	initializeTimeoutMs: 'duration',
	recovers: 'flag',
	recoveryBudgetMs: 'duration',
	resumeSessionId: 'text',
	signal: 'signal',
};

/** Starts that are sent at once; the others wait. A connection has room for 1,024 calls, which other calls need as well. */
const MAX_PENDING_STARTS = 512;

/** Calls methods of the server by name, with results checked and decoded. */
export interface Caller {
	/** Waits during a recovery. Rejects when the connection is lost before the reply: the call may have been executed. */
	call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>>;
	/** The same for idempotent calls: retried when the session was resumed. */
	repeat<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>>;
}

type Listener = (params: unknown) => void;

type ConnectionState =
	| {readonly kind: 'connected'; readonly connection: Connection}
	| {readonly kind: 'recovering'; readonly done: Promise<void>}
	| {readonly kind: 'failed'; readonly error: DisconnectedError};

/**
 * One session over a series of connections. When a connection is lost, the client reconnects, resumes the session and
 * reads missed events; when that fails, all processes and calls fail with the reason.
 */
export class SessionClient implements Caller, Processes, AsyncDisposable {
	/** Undefined if the server has no sessions: there is nothing to resume then. */
	readonly sessionId: string | undefined;
	/** Resolves with the reason when the session is closed or lost for good. */
	readonly ended: Promise<Error>;
	readonly #connect: Connect;
	readonly #options: SessionClientOptions;
	/** Our own servers leave the reason of a plain exit out. */
	readonly #processes = new ProcessRegistry(() => this.capabilities['processWait'] === true);
	readonly #starts = new Semaphore(MAX_PENDING_STARTS);
	readonly #session: ProcessSession = {
		call: (method, params) => this.call(method, params),
		repeat: (method, params) => this.repeat(method, params),
		describe: () => this.describe(),
		has: capability => this.capabilities[capability] === true,
		attachAgain: (process, request) => this.#attacher.attachAgain(process, request),
		forget: process => this.#processes.delete(process),
	};
	readonly #attacher: ProcessAttacher;
	readonly #listeners = new Map<string, Set<Listener>>();
	readonly #disconnectListeners = new Set<(error: DisconnectedError) => void>();
	readonly #readPauser = new ReadPauser();
	readonly #end = new Deferred<Error>();
	readonly #closing = new AbortController();
	#state: ConnectionState;
	#description: ServerDescription | undefined;

	static async open(connect: Connect, given: WithDurations<SessionClientOptions> = {}): Promise<SessionClient> {
		const options = readOptions<SessionClientOptions>(given, SESSION_OPTIONS, 'SessionClient.open()');
		// Undefined during the handshake: notifications from before its end are dropped.
		let client: SessionClient | undefined;
		const {signal} = options;
		const connection = await openUnlessAttached(connect, {
			clientName: options.clientName ?? 'longarm',
			initializeTimeoutMs: options.initializeTimeoutMs,
			resumeSessionId: options.resumeSessionId,
			signal,
			onNotification: notification => {
				if (client) client.#onNotification(notification);
			},
			onDisconnect: error => {
				if (client) client.#onConnectionLost(error);
			},
		});
		client = new SessionClient(connect, connection, options);
		if (connection.isClosed) client.#onConnectionLost(new DisconnectedError());
		return client;
	}

	private constructor(connect: Connect, connection: Connection, options: SessionClientOptions) {
		this.#connect = connect;
		this.#options = options;
		this.#state = {kind: 'connected', connection};
		this.#readPauser.use(connection);
		this.sessionId = connection.sessionId;
		this.#description = connection.description;
		this.ended = this.#end.promise;
		this.#attacher = new ProcessAttacher({
			session: this.#session,
			registry: this.#processes,
			source: this.#readPauser,
			isResumed: options.resumeSessionId !== undefined,
		});
	}

	/** Undefined while it is not known, see `describe`. */
	get dialect(): ServerDescription['dialect'] | undefined {
		return this.#known?.dialect;
	}

	/** The server's description of itself; undefined while it is not known, or if there is none. */
	get info(): ServerDescription['info'] {
		return this.#known?.info;
	}

	/** Capabilities of the server; empty while they are not known, or if it lists none. */
	get capabilities(): ServerDescription['capabilities'] {
		return this.#known?.capabilities ?? {};
	}

	get #known(): ServerDescription | undefined {
		if (this.#state.kind === 'connected') this.#description ??= this.#state.connection.description;
		return this.#description;
	}

	get state(): ConnectionState['kind'] {
		return this.#state.kind;
	}

	/** Facts about the server. An old one, whose greeting says nothing of itself, is asked the first time they are needed. */
	async describe(): Promise<ServerDescription> {
		while (!this.#description) {
			const connection = await this.#getConnection();
			try {
				this.#description = await connection.describe();
			} catch (error) {
				if (!(error instanceof DisconnectedError) || this.#state.kind === 'failed') throw error;
			}
		}
		return this.#description;
	}

	/** Resolves when no recovery is pending; rejects when the session is lost. */
	async recovered(): Promise<void> {
		await this.#getConnection();
	}

	/** Checks that the server answers. Rejects during a recovery instead of waiting. */
	async status(): Promise<Result<'environment/status'>> {
		if (this.#state.kind === 'recovering') throw new Error('exec-server environment is recovering');
		return (await this.#getConnection()).status();
	}

	async call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		return (await this.#getConnection()).call(method, params);
	}

	async repeat<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		for (;;) {
			try {
				return await this.call(method, params);
			} catch (error) {
				if (!(error instanceof DisconnectedError) || this.#state.kind === 'failed') throw error;
			}
		}
	}

	/** Starts a process. It is registered before the server answers, so that none of its events is missed. */
	start(params: StartParams, options: StartOptions = {}): Promise<StartedProcess> {
		return startWithSignal(options, () => this.#starts.run(() => this.#start(params, options)));
	}

	/** The processes of the session; with `all`, of every session that this client may look at. */
	async list(options: ListProcessesOptions = {}): Promise<ListedProcess[]> {
		return listProcesses(this.#session, options);
	}

	/**
	 * The handle of a process that this client has not started, by its id or name, with its events from the first that is
	 * kept or from behind `afterSeq`. It does not hold the process back: one that waited for an earlier reader runs on.
	 * Processes of other sessions need a server with `processAttach`.
	 */
	async attach(idOrName: string, options: AttachProcessOptions = {}): Promise<ProcessHandle> {
		return this.#attacher.attach(idOrName, options);
	}

	async reference(idOrName: string): Promise<UnattachedProcess> {
		return new RemoteReference(idOrName, this.#session);
	}

	/**
	 * Has the server replaced by another version of itself, or by the program at `to`. Settles with the description of the
	 * new one when the session goes on there.
	 */
	async upgrade(to?: string): Promise<ServerDescription> {
		try {
			await this.call('environment/upgrade', {...(to !== undefined && {to})});
		} catch (error) {
			if (!(error instanceof DisconnectedError)) throw error;
		}
		await this.recovered();
		this.#description = await (await this.#getConnection()).describe();
		return this.#description;
	}

	/** Calls back for every notification of this name, until the returned function is called. */
	on<N extends NotificationName>(name: N, listener: (params: Params<N>) => void): () => void {
		const listeners = this.#listeners.get(name) ?? new Set();
		this.#listeners.set(name, listeners.add(listener as Listener));
		return () => listeners.delete(listener as Listener);
	}

	/**
	 * Calls back for every lost connection, until the returned function is called: resources that belong to a connection
	 * and not to the session are gone then, even if the session is resumed.
	 */
	onDisconnect(listener: (error: DisconnectedError) => void): () => void {
		this.#disconnectListeners.add(listener);
		return () => this.#disconnectListeners.delete(listener);
	}

	async #start(params: StartParams, given: StartOptions): Promise<StartedProcess> {
		const {processId} = params;
		const {backpressure, timeout, signal} = given;
		const isDescribed = backpressure || timeout !== undefined || signal;
		const capabilities = isDescribed ? (await this.describe()).capabilities : this.capabilities;
		const connection = await this.#getConnection();
		// As the server answers, which would be asked in vain: events of both would have the same id.
		if (this.#processes.get(processId)) {
			throw new RejectedError(new RpcError(INVALID_REQUEST, `process ${processId} already exists`));
		}
		const {request, options} = prepareStart(params, given, capabilities);
		const source = backpressure ? this.#readPauser : undefined;
		const process = new RemoteProcess(processId, this.#session, {...options, source});
		this.#processes.add(process);
		try {
			const {sandboxType} = await connection.call('process/start', request);
			process.handleStarted();
			return {process, sandboxType};
		} catch (error) {
			if (error instanceof DisconnectedError) void this.#abandon(process);
			else this.#processes.delete(process);
			throw error;
		}
	}

	/** Closes the connection; the server's policy decides about running processes. */
	close(): void {
		this.#closing.abort(new Error('the client was closed'));
		// Resumes reading: the peer's side of the closing handshake has to be read.
		this.#readPauser.use(undefined);
		if (this.#state.kind === 'connected') this.#state.connection.close();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.close();
		await this.ended;
	}

	/** Events of unknown processes and notifications without a listener are ignored. */
	#onNotification(notification: Notification): void {
		this.#processes.receive(notification);
		const {method, params} = notification;
		const listeners = this.#listeners.get(method);
		if (!listeners?.size) return;
		const decoded: unknown = decode(METHODS[method as NotificationName].params, params);
		for (const listener of listeners) listener(decoded);
	}

	#onConnectionLost(error: DisconnectedError): void {
		if (this.#state.kind !== 'connected') return;
		this.#description ??= this.#state.connection.description;
		this.#readPauser.use(undefined);
		if (this.#closing.signal.aborted || this.#options.recovers === false) this.#fail(error);
		else if (this.sessionId === undefined) this.#fail(resumeFailedError(error, 'missing session id'));
		else this.#state = {kind: 'recovering', done: holdProgramFor(this.#recover(error))};
		for (const listener of this.#disconnectListeners) listener(error);
	}

	async #recover(disconnect: DisconnectedError): Promise<void> {
		const {clientName = 'longarm', initializeTimeoutMs, recoveryBudgetMs} = this.#options;
		for (const process of this.#processes) process.isCatchingUp = true;
		// A new connection that is lost before the recovery is complete is reported after it.
		let earlyDisconnect: DisconnectedError | undefined;
		let isRecovered = false;
		const outcome = await recover({
			connect: this.#connect,
			budgetMs: recoveryBudgetMs,
			instanceId: this.#known?.info?.instanceId,
			cancel: this.#closing.signal,
			open: (transport, leftMs) =>
				Connection.open(transport, {
					clientName,
					initializeTimeoutMs: Math.min(initializeTimeoutMs ?? INITIALIZE_TIMEOUT_MS, leftMs),
					resumeSessionId: this.sessionId,
					known: this.#known,
					signal: this.#closing.signal,
					onNotification: notification => this.#onNotification(notification),
					onDisconnect: error => {
						if (isRecovered) this.#onConnectionLost(error);
						else earlyDisconnect = error;
					},
				}),
			processes: () => [...this.#processes].filter(process => process.isRecoverable),
			reattach: (connection, process) => this.#attacher.reattach(connection, process),
		});
		if ('failure' in outcome) {
			this.#fail(resumeFailedError(disconnect, outcome.failure));
			return;
		}
		isRecovered = true;
		this.#state = {kind: 'connected', connection: outcome.connection};
		this.#processes.sweep();
		if (outcome.connection.isClosed) this.#onConnectionLost(earlyDisconnect ?? new DisconnectedError());
		// `close()` was called during the recovery, without a connection to close.
		else if (this.#closing.signal.aborted) outcome.connection.close();
		else this.#readPauser.use(outcome.connection);
	}

	#fail(error: DisconnectedError): void {
		this.#state = {kind: 'failed', error};
		for (const process of this.#processes) process.fail(error.message);
		this.#processes.clear();
		this.#end.resolve(error);
	}

	async #getConnection(): Promise<Connection> {
		while (this.#state.kind === 'recovering') await this.#state.done;
		if (this.#state.kind === 'failed') throw this.#state.error;
		return this.#state.connection;
	}

	/** Terminates a process whose start reply was lost: it may run, and the caller has no handle. */
	async #abandon(process: RemoteProcess): Promise<void> {
		try {
			await process.terminate();
		} catch {
			// Without a connection, the server ends it with the session.
		}
		this.#processes.delete(process);
	}
}

function resumeFailedError(disconnect: DisconnectedError, why: string): DisconnectedError {
	const reason = `; failed to resume exec-server session: ${why}`;
	return new DisconnectedError(disconnect.cause as Error | undefined, reason);
}
