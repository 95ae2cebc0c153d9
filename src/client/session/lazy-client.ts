import {RpcError} from '../../protocol/wire/error-codes.js';
import {ignoreRejection} from '../../shared/async/ignore-rejection.js';
import {holdProgramFor} from '../../shared/async/keep-alive.js';
import {type OptionTable, readOptions, type WithDurations} from '../../shared/call-options.js';
import {errorMessage} from '../../shared/errors.js';
import {ClosedError} from './closed-error.js';
import {type Connect, SESSION_OPTIONS, SessionClient, type SessionClientOptions} from './session-client.js';

/** Options of a `LazyClient`. */
export interface LazyClientOptions extends SessionClientOptions {
	/** Replaces a lost session by a new one; on by default. Off for a command's stdio, which ends with its session. */
	readonly reconnects?: boolean;
}

const LAZY_OPTIONS: OptionTable<LazyClientOptions> = {...SESSION_OPTIONS, reconnects: 'flag'};

/** Status of the connection, as known without connecting. */
export type RemoteStatus =
	| {readonly kind: 'pending'}
	| {readonly kind: 'ready'}
	| {readonly kind: 'disconnected'; readonly error: string};

/** `recovered` resolves when the session is resumed, and rejects when it is lost. */
export type DisconnectListener = (error: Error, recovered: Promise<void>) => void;

type Startup =
	| {readonly kind: 'idle'}
	| {readonly kind: 'connecting'; readonly client: Promise<SessionClient>}
	| {readonly kind: 'connected'; readonly client: SessionClient}
	| {readonly kind: 'failed'; readonly error: Error; readonly isFinal: boolean};

/**
 * A client that connects on first use. Concurrent callers share one attempt; a session that is lost for good is
 * replaced by a new one, without the processes of the old.
 */
export class LazyClient implements AsyncDisposable {
	readonly #connect: Connect;
	readonly #options: LazyClientOptions;
	readonly #abort = new AbortController();
	readonly #disconnectListeners = new Set<DisconnectListener>();
	#startup: Startup = {kind: 'idle'};
	/** A session that was resumed and is lost cannot be resumed again. */
	#mayResume = true;

	constructor(connect: Connect, options: WithDurations<LazyClientOptions> = {}) {
		this.#connect = connect;
		this.#options = readOptions<LazyClientOptions>(options, LAZY_OPTIONS, 'LazyClient');
	}

	/** The connected client; connects if necessary. */
	async client(): Promise<SessionClient> {
		const startup = this.#startup;
		switch (startup.kind) {
			case 'connecting':
				return startup.client;
			case 'connected':
				if (startup.client.state !== 'failed' || this.#options.reconnects === false) return startup.client;
				return this.#startConnecting();
			case 'failed':
				if (startup.isFinal) throw startup.error;
				return this.#startConnecting();
			case 'idle':
				return this.#startConnecting();
		}
	}

	/** Connects in the background; an error is reported to the next caller of `client()`. */
	warmUp(): void {
		this.client().catch(() => {});
	}

	/** The client if it is connected now; throws otherwise. Never connects and never waits. */
	ready(): SessionClient {
		if (this.#startup.kind !== 'connected') throw new Error('exec-server environment is not ready');
		if (this.#startup.client.state === 'recovering') throw new Error('exec-server environment is recovering');
		return this.#startup.client;
	}

	/** Checks that the server answers, if there is a connection; never connects. */
	async status(): Promise<RemoteStatus> {
		const startup = this.#startup;
		if (startup.kind === 'failed') return {kind: 'disconnected', error: startup.error.message};
		if (startup.kind !== 'connected') return {kind: 'pending'};
		try {
			await startup.client.status();
			return {kind: 'ready'};
		} catch (error) {
			// An error reply is an answer: an older server does not know the method.
			return error instanceof RpcError ? {kind: 'ready'} : {kind: 'disconnected', error: (error as Error).message};
		}
	}

	/** Calls back for every lost connection, until the returned function is called. */
	onDisconnect(listener: DisconnectListener): () => void {
		this.#disconnectListeners.add(listener);
		return () => this.#disconnectListeners.delete(listener);
	}

	/** Aborts connecting, or closes the connection. */
	close(): void {
		const startup = this.#startup;
		const error = new ClosedError();
		this.#abort.abort(error);
		if (startup.kind === 'connected') startup.client.close();
		this.#startup = {kind: 'failed', error, isFinal: true};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const startup = this.#startup;
		this.close();
		if (startup.kind === 'connected') await holdProgramFor(startup.client.ended);
		else if (startup.kind === 'connecting') await startup.client.catch(() => {});
	}

	#notifyDisconnect(error: Error, client: SessionClient): void {
		const recovered = ignoreRejection(client.recovered());
		for (const listener of this.#disconnectListeners) listener(error, recovered);
	}

	#startConnecting(): Promise<SessionClient> {
		const client = this.#open();
		this.#startup = {kind: 'connecting', client};
		return client;
	}

	async #open(): Promise<SessionClient> {
		const {signal} = this.#abort;
		try {
			signal.throwIfAborted();
			const {reconnects: _, resumeSessionId, ...options} = this.#options;
			const resumes = this.#mayResume && resumeSessionId !== undefined;
			const client = await SessionClient.open(this.#connect, {...options, signal, ...(resumes && {resumeSessionId})});
			this.#mayResume = false;
			if (signal.aborted) client.close();
			signal.throwIfAborted();
			this.#startup = {kind: 'connected', client};
			client.onDisconnect(error => this.#notifyDisconnect(error, client));
			return client;
		} catch (cause) {
			const error = toConnectError(cause);
			this.#startup = {kind: 'failed', error, isFinal: !mayRetry(cause)};
			throw error;
		}
	}
}

/** An error reply is final; any other failure may be temporary. */
function mayRetry(error: unknown): boolean {
	return !(error instanceof RpcError) && !(error instanceof ClosedError);
}

function toConnectError(cause: unknown): Error {
	if (cause instanceof ClosedError) return cause;
	if (mayRetry(cause)) return cause instanceof Error ? cause : new Error(String(cause));
	return new Error(`exec-server connection attempt failed: ${errorMessage(cause)}`, {cause});
}
