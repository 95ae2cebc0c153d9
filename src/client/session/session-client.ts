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
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {Deferred} from '../../shared/async/deferred.js';
import {type OptionTable, readOptions, type WithDurations} from '../../shared/call-options.js';
import {randomId} from '../../shared/random-id.js';
import type {Transport} from '../../transports/transport.js';
import {toPathUri} from '../paths.js';
import {EVERYTHING} from '../process/acknowledger.js';
import type {
	AttachProcessOptions,
	NumberedEvent,
	Processes,
	ProcessHandle,
	StartedProcess,
	StartOptions,
	StartParams,
} from '../process/process-handle.js';
import {RemoteProcess} from '../process/remote-process.js';
import {startWithSignal} from '../process/start-with-signal.js';
import {catchUpInPages} from './catch-up.js';
import {ProtocolError} from './client-errors.js';
import {Connection, INITIALIZE_TIMEOUT_MS, type ServerDescription} from './connection.js';
import {openUnlessAttached} from './open-unless-attached.js';
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
	readonly #processes = new Map<string, RemoteProcess>();
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
		return startWithSignal(options, () => this.#start(params, options));
	}

	/**
	 * The handle of a process of the session that this client has not started, with its events from the first that is kept
	 * or from behind `afterSeq`. It does not hold the process back: one that waited for an earlier reader runs on.
	 */
	async attach(processId: string, options: AttachProcessOptions = {}): Promise<ProcessHandle> {
		const {afterSeq} = readOptions<AttachProcessOptions>(options, {afterSeq: 'count'}, 'attach()');
		const known = this.#processes.get(processId);
		if (known) return known;
		const process = new RemoteProcess(processId, this, {afterSeq, writePrefix: `${randomId()}-`});
		process.isCatchingUp = true;
		this.#processes.set(processId, process);
		try {
			await catchUpInPages(process, (after, maxBytes) =>
				this.call('process/read', {processId, afterSeq: after, waitMs: 0, ...(maxBytes && {maxBytes})}),
			);
		} catch (error) {
			this.#processes.delete(processId);
			throw error;
		}
		process.isRecoverable = true;
		if (this.capabilities['processAcknowledge']) {
			// Refused where the token may only look on: the process waits for its driver then.
			this.repeat('process/acknowledge', {processId, seq: EVERYTHING}).catch(() => {});
		}
		if (process.isOver) this.#processes.delete(processId);
		return process;
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

	async #start(params: StartParams, {backpressure}: StartOptions): Promise<StartedProcess> {
		const {processId} = params;
		const capabilities = backpressure ? (await this.describe()).capabilities : undefined;
		const connection = await this.#getConnection();
		if (this.#processes.has(processId)) throw new ProtocolError(`session already registered for process ${processId}`);
		const acknowledged = backpressure === true && capabilities?.['processAcknowledge'] === true;
		const process = new RemoteProcess(processId, this, {
			source: backpressure ? this.#readPauser : undefined,
			acknowledges: acknowledged,
		});
		this.#processes.set(processId, process);
		try {
			const cwd = toPathUri(params.cwd).href;
			const request = {...params, cwd, ...(acknowledged && {acknowledged})};
			const {sandboxType} = await connection.call('process/start', request);
			process.isRecoverable = true;
			return {process, sandboxType};
		} catch (error) {
			if (error instanceof DisconnectedError) void this.#abandon(processId);
			else this.#processes.delete(processId);
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
		const known = toProcessEvent(notification);
		const process = known && this.#processes.get(known.processId);
		process?.receive(known!.event);
		if (process?.isOver) this.#processes.delete(process.processId);
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
		else this.#state = {kind: 'recovering', done: this.#recover(error)};
		for (const listener of this.#disconnectListeners) listener(error);
	}

	async #recover(disconnect: DisconnectedError): Promise<void> {
		const {clientName = 'longarm', initializeTimeoutMs, recoveryBudgetMs} = this.#options;
		for (const process of this.#processes.values()) process.isCatchingUp = true;
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
			processes: () => [...this.#processes.values()].filter(process => process.isRecoverable),
		});
		if ('failure' in outcome) {
			this.#fail(resumeFailedError(disconnect, outcome.failure));
			return;
		}
		isRecovered = true;
		this.#state = {kind: 'connected', connection: outcome.connection};
		for (const [id, process] of this.#processes) if (process.isOver) this.#processes.delete(id);
		if (outcome.connection.isClosed) this.#onConnectionLost(earlyDisconnect ?? new DisconnectedError());
		// `close()` was called during the recovery, without a connection to close.
		else if (this.#closing.signal.aborted) outcome.connection.close();
		else this.#readPauser.use(outcome.connection);
	}

	#fail(error: DisconnectedError): void {
		this.#state = {kind: 'failed', error};
		for (const process of this.#processes.values()) process.fail(error.message);
		this.#processes.clear();
		this.#end.resolve(error);
	}

	async #getConnection(): Promise<Connection> {
		while (this.#state.kind === 'recovering') await this.#state.done;
		if (this.#state.kind === 'failed') throw this.#state.error;
		return this.#state.connection;
	}

	/** Terminates a process whose start reply was lost: it may run, and the caller has no handle. */
	async #abandon(processId: string): Promise<void> {
		try {
			await this.repeat('process/terminate', {processId});
		} catch {
			// Without a connection, the server ends it with the session.
		}
		this.#processes.delete(processId);
	}
}

function resumeFailedError(disconnect: DisconnectedError, why: string): DisconnectedError {
	const reason = `; failed to resume exec-server session: ${why}`;
	return new DisconnectedError(disconnect.cause as Error | undefined, reason);
}

function toProcessEvent({method, params}: Notification): {processId: string; event: NumberedEvent} | undefined {
	switch (method) {
		case 'process/output': {
			const {processId, seq, stream, chunk} = decode(METHODS[method].params, params);
			return {processId, event: {kind: 'output', seq, stream, bytes: chunk}};
		}
		case 'process/exited': {
			const {processId, seq, exitCode, sandboxDenied, reason} = decode(METHODS[method].params, params);
			return {processId, event: {kind: 'exited', seq, exitCode, sandboxDenied: sandboxDenied ?? undefined, reason}};
		}
		case 'process/closed': {
			const {processId, seq} = decode(METHODS[method].params, params);
			return {processId, event: {kind: 'closed', seq}};
		}
		default:
			return undefined;
	}
}
