import {RpcError} from '../../protocol/wire/error-codes.js';
import {type Connect, SessionClient, type SessionClientOptions} from './session-client.js';

export interface LazyClientOptions extends SessionClientOptions {
	/** Whether a lost session is replaced by a new one; a command that is spoken to ends with its session. */
	readonly reconnects?: boolean;
}

/** What is known without connecting for it. */
export type RemoteStatus =
	| {readonly kind: 'pending'}
	| {readonly kind: 'ready'}
	| {readonly kind: 'disconnected'; readonly error: string};

/** `recovered` settles when the session goes on, and rejects when it does not. */
export type DisconnectListener = (error: Error, recovered: Promise<void>) => void;

type Startup =
	| {readonly kind: 'idle'}
	| {readonly kind: 'connecting'; readonly client: Promise<SessionClient>}
	| {readonly kind: 'connected'; readonly client: SessionClient}
	| {readonly kind: 'failed'; readonly error: Error; readonly isFinal: boolean};

/** Nobody wants the connection any more. */
class ClosedError extends Error {
	override readonly name = 'ClosedError';
}

/**
 * A client that connects when it is first needed. Everybody who asks while it connects waits for the same attempt; a
 * session that is lost for good is replaced by a new one, without the processes of the old.
 */
export class LazyClient implements AsyncDisposable {
	readonly #connect: Connect;
	readonly #options: LazyClientOptions;
	readonly #abort = new AbortController();
	readonly #disconnects = new Set<DisconnectListener>();
	#startup: Startup = {kind: 'idle'};

	constructor(connect: Connect, options: LazyClientOptions = {}) {
		this.#connect = connect;
		this.#options = options;
	}

	/** Connects if that was not done yet. */
	async client(): Promise<SessionClient> {
		const startup = this.#startup;
		switch (startup.kind) {
			case 'connecting':
				return startup.client;
			case 'connected':
				if (startup.client.state !== 'failed' || this.#options.reconnects === false) return startup.client;
				return this.#begin();
			case 'failed':
				if (startup.isFinal) throw startup.error;
				return this.#begin();
			case 'idle':
				return this.#begin();
		}
	}

	/** Connects in the background; whoever needs it learns how that went. */
	warmUp(): void {
		this.client().catch(() => {});
	}

	/** The client, if it is there now. Never connects and never waits. */
	ready(): SessionClient {
		if (this.#startup.kind !== 'connected') throw new Error('exec-server environment is not ready');
		if (this.#startup.client.state === 'recovering') throw new Error('exec-server environment is recovering');
		return this.#startup.client;
	}

	/** Asks the server whether it is there, if there is a connection; makes none. */
	async status(): Promise<RemoteStatus> {
		const startup = this.#startup;
		if (startup.kind === 'failed') return {kind: 'disconnected', error: startup.error.message};
		if (startup.kind !== 'connected') return {kind: 'pending'};
		try {
			await startup.client.status();
			return {kind: 'ready'};
		} catch (error) {
			// A server that does not know the question is there.
			return error instanceof RpcError ? {kind: 'ready'} : {kind: 'disconnected', error: (error as Error).message};
		}
	}

	/** Hears of every lost connection, until the returned function is called. */
	onDisconnect(listener: DisconnectListener): () => void {
		this.#disconnects.add(listener);
		return () => this.#disconnects.delete(listener);
	}

	/** Gives up connecting, or ends the connection. */
	close(): void {
		const startup = this.#startup;
		this.#abort.abort(new ClosedError('the environment is closed'));
		if (startup.kind === 'connected') startup.client.close();
		else this.#startup = {kind: 'failed', error: new ClosedError('the environment is closed'), isFinal: true};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const startup = this.#startup;
		this.close();
		if (startup.kind === 'connected') await startup.client.ended;
		else if (startup.kind === 'connecting') await startup.client.catch(() => {});
	}

	#tell(error: Error, client: SessionClient): void {
		const recovered = ignorable(client.recovered());
		for (const listener of this.#disconnects) listener(error, recovered);
	}

	#begin(): Promise<SessionClient> {
		const client = this.#attempt();
		this.#startup = {kind: 'connecting', client};
		return client;
	}

	async #attempt(): Promise<SessionClient> {
		const connect: Connect = signal =>
			this.#connect(AbortSignal.any([this.#abort.signal, ...(signal ? [signal] : [])]));
		try {
			this.#abort.signal.throwIfAborted();
			const client = await SessionClient.open(connect, this.#options);
			if (this.#abort.signal.aborted) client.close();
			this.#abort.signal.throwIfAborted();
			this.#startup = {kind: 'connected', client};
			client.onDisconnect(error => this.#tell(error, client));
			return client;
		} catch (cause) {
			const error = failed(cause);
			this.#startup = {kind: 'failed', error, isFinal: !mayRetry(cause)};
			throw error;
		}
	}
}

/** What the server refuses, it refuses again; everything else may have been the moment. */
function mayRetry(error: unknown): boolean {
	return !(error instanceof RpcError) && !(error instanceof ClosedError);
}

function failed(cause: unknown): Error {
	if (cause instanceof ClosedError) return cause;
	const reason = cause instanceof Error ? cause.message : String(cause);
	return mayRetry(cause) ? toError(cause) : new Error(`exec-server connection attempt failed: ${reason}`, {cause});
}

/** Nobody has to wait for it. */
function ignorable<T>(promise: Promise<T>): Promise<T> {
	promise.catch(() => {});
	return promise;
}

function toError(thrown: unknown): Error {
	return thrown instanceof Error ? thrown : new Error(String(thrown));
}
