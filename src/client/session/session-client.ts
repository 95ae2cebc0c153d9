import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
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
import type {Transport} from '../../transports/transport.js';
import {toPathUri} from '../paths.js';
import type {NumberedEvent, Processes, StartedProcess, StartOptions, StartParams} from '../process/process-handle.js';
import {RemoteProcess} from '../process/remote-process.js';
import {startWithSignal} from '../process/start-with-signal.js';
import {Connection} from './connection.js';
import type {Dialect} from './handshake.js';
import {ReadPauser} from './read-pauser.js';
import {recover} from './recovery.js';

/** Makes a connection; asked again when one is lost. The signal says when it is too late. */
export type Connect = (signal?: AbortSignal) => Promise<Transport>;

export interface SessionClientOptions {
	readonly clientName?: string;
	readonly initializeTimeoutMs?: number;
	/** Whether a lost connection is made again and the session resumed; on by default. */
	readonly recovers?: boolean;
	/** How long that may take. */
	readonly recoveryBudgetMs?: number;
}

/** Calls methods of the server by name, with results checked and decoded. */
export interface Caller {
	/** Fails when the connection is lost meanwhile: nobody knows whether it was done. Waits while it is made again. */
	call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>>;
	/** The same for what may be done twice: repeated when the connection was made again. */
	repeat<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>>;
}

type Listener = (params: unknown) => void;

type Link =
	| {readonly kind: 'connected'; readonly connection: Connection}
	| {readonly kind: 'recovering'; readonly over: Promise<void>}
	| {readonly kind: 'failed'; readonly error: DisconnectedError};

/**
 * One session, over as many connections as it takes. When a connection is lost it is made again, the session resumed
 * and what was missed caught up with; when that fails, processes fail with the reason, reads of them say so, and every
 * other call fails with the same words.
 */
export class SessionClient implements Caller, Processes, AsyncDisposable {
	/** Undefined where the server has no sessions: there is nothing to resume then. */
	readonly sessionId: string | undefined;
	readonly dialect: Dialect;
	/** How the server described itself at the beginning; undefined where it cannot. */
	readonly info: EnvironmentInfo | undefined;
	/** What the server says it can do; empty where it does not say. */
	readonly capabilities: Readonly<Record<string, boolean>>;
	/** Settles with the reason when the session is lost or closed for good. */
	readonly ended: Promise<Error>;
	readonly #connect: Connect;
	readonly #options: SessionClientOptions;
	readonly #processes = new Map<string, RemoteProcess>();
	readonly #listeners = new Map<string, Set<Listener>>();
	readonly #disconnects = new Set<(error: DisconnectedError) => void>();
	readonly #readPauser = new ReadPauser();
	#tellEnd!: (error: Error) => void;
	#link: Link;
	#isClosing = false;

	static async open(connect: Connect, options: SessionClientOptions = {}): Promise<SessionClient> {
		// Nothing is told about a session before its handshake is over.
		let client: SessionClient | undefined;
		const connection = await Connection.open(await connect(), {
			clientName: options.clientName ?? 'longarm',
			initializeTimeoutMs: options.initializeTimeoutMs,
			notified: notification => {
				if (client) client.#notified(notification);
			},
			disconnected: error => {
				if (client) client.#lost(error);
			},
		});
		client = new SessionClient(connect, connection, options);
		if (connection.isClosed) client.#lost(new DisconnectedError());
		return client;
	}

	private constructor(connect: Connect, connection: Connection, options: SessionClientOptions) {
		this.#connect = connect;
		this.#options = options;
		this.#link = {kind: 'connected', connection};
		this.#readPauser.use(connection);
		const {sessionId, dialect, info} = connection.handshake;
		this.sessionId = sessionId;
		this.dialect = dialect;
		this.info = info;
		this.capabilities = info?.capabilities ?? {};
		this.ended = new Promise(resolve => {
			this.#tellEnd = resolve;
		});
	}

	get state(): Link['kind'] {
		return this.#link.kind;
	}

	/** Waits while a lost connection is made again; rejects when that fails. */
	async recovered(): Promise<void> {
		await this.#connected();
	}

	/** That the server is there. Does not wait for a connection that is being made again. */
	async status(): Promise<Result<'environment/status'>> {
		if (this.#link.kind === 'recovering') throw new Error('exec-server environment is recovering');
		return (await this.#connected()).status();
	}

	async call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		return (await this.#connected()).call(method, params);
	}

	async repeat<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		for (;;) {
			try {
				return await this.call(method, params);
			} catch (error) {
				if (!(error instanceof DisconnectedError) || this.#link.kind === 'failed') throw error;
			}
		}
	}

	/** Starts a process. It is known here before the server answers, so that none of its events is missed. */
	start(params: StartParams, options: StartOptions = {}): Promise<StartedProcess> {
		return startWithSignal(options, () => this.#start(params, options));
	}

	/** Hears every notification of this name, until the returned function is called. */
	on<N extends NotificationName>(name: N, listener: (params: Params<N>) => void): () => void {
		const listeners = this.#listeners.get(name) ?? new Set();
		this.#listeners.set(name, listeners.add(listener as Listener));
		return () => listeners.delete(listener as Listener);
	}

	/**
	 * Hears of every lost connection, until the returned function is called: what belongs to a connection and not to the
	 * session is over then, even if the session is resumed.
	 */
	onDisconnect(listener: (error: DisconnectedError) => void): () => void {
		this.#disconnects.add(listener);
		return () => this.#disconnects.delete(listener);
	}

	async #start(params: StartParams, {holdsBack}: StartOptions): Promise<StartedProcess> {
		const {processId} = params;
		const connection = await this.#connected();
		if (this.#processes.has(processId)) throw new Error(`session already registered for process ${processId}`);
		const process = new RemoteProcess(processId, this, holdsBack ? this.#readPauser : undefined);
		this.#processes.set(processId, process);
		try {
			const cwd = toPathUri(params.cwd).href;
			const {sandboxType} = await connection.call('process/start', {...params, cwd});
			process.isRecoverable = true;
			return {process, sandboxType};
		} catch (error) {
			if (error instanceof DisconnectedError) void this.#abandon(processId);
			else this.#processes.delete(processId);
			throw error;
		}
	}

	/** Ends the session's connection; what runs in the session is up to the server. */
	close(): void {
		this.#isClosing = true;
		// The goodbye of the other side has to be read.
		this.#readPauser.use(undefined);
		if (this.#link.kind === 'connected') this.#link.connection.close();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.close();
		await this.ended;
	}

	/** What is about a process nobody knows here is ignored, and so is what nobody listens to. */
	#notified(notification: Notification): void {
		const known = toEvent(notification);
		const process = known && this.#processes.get(known.processId);
		process?.receive(known!.event);
		if (process?.isOver) this.#processes.delete(process.processId);
		const {method, params} = notification;
		const listeners = this.#listeners.get(method);
		if (!listeners?.size) return;
		const decoded: unknown = decode(METHODS[method as NotificationName].params, params);
		for (const listener of listeners) listener(decoded);
	}

	/** The connection is gone. */
	#lost(error: DisconnectedError): void {
		if (this.#link.kind !== 'connected') return;
		this.#readPauser.use(undefined);
		if (this.#isClosing || this.#options.recovers === false) this.#fail(error);
		else if (this.sessionId === undefined) this.#fail(notResumed(error, 'missing session id'));
		else this.#link = {kind: 'recovering', over: this.#recover(error)};
		for (const listener of this.#disconnects) listener(error);
	}

	async #recover(disconnect: DisconnectedError): Promise<void> {
		const {clientName = 'longarm', initializeTimeoutMs, recoveryBudgetMs} = this.#options;
		// One that is lost before it is in place is lost when it is.
		let lostEarly: DisconnectedError | undefined;
		let isInPlace = false;
		const outcome = await recover({
			connect: this.#connect,
			budgetMs: recoveryBudgetMs,
			isGivenUp: () => this.#isClosing,
			open: transport =>
				Connection.open(transport, {
					clientName,
					initializeTimeoutMs,
					resumeSessionId: this.sessionId,
					notified: notification => this.#notified(notification),
					disconnected: error => {
						if (isInPlace) this.#lost(error);
						else lostEarly = error;
					},
				}),
			processes: () => [...this.#processes.values()].filter(process => process.isRecoverable),
		});
		if ('failure' in outcome) {
			this.#fail(notResumed(disconnect, outcome.failure));
			return;
		}
		isInPlace = true;
		this.#link = {kind: 'connected', connection: outcome.connection};
		for (const [id, process] of this.#processes) if (process.isOver) this.#processes.delete(id);
		if (outcome.connection.isClosed) this.#lost(lostEarly ?? new DisconnectedError());
		// Closed while there was no connection to close.
		else if (this.#isClosing) outcome.connection.close();
		else this.#readPauser.use(outcome.connection);
	}

	#fail(error: DisconnectedError): void {
		this.#link = {kind: 'failed', error};
		for (const process of this.#processes.values()) process.fail(error.message);
		this.#processes.clear();
		this.#tellEnd(error);
	}

	async #connected(): Promise<Connection> {
		while (this.#link.kind === 'recovering') await this.#link.over;
		if (this.#link.kind === 'failed') throw this.#link.error;
		return this.#link.connection;
	}

	/** A start whose answer was lost may have happened: nobody wants that process any more. */
	async #abandon(processId: string): Promise<void> {
		try {
			await this.repeat('process/terminate', {processId});
		} catch {
			// Without a connection the server ends it, with the session.
		}
		this.#processes.delete(processId);
	}
}

function notResumed(disconnect: DisconnectedError, why: string): DisconnectedError {
	const reason = `; failed to resume exec-server session: ${why}`;
	return new DisconnectedError(disconnect.cause as Error | undefined, reason);
}

function toEvent({method, params}: Notification): {processId: string; event: NumberedEvent} | undefined {
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
