import type {Notification} from '../../protocol/wire/envelope.js';
import {METHOD_NOT_FOUND, RpcError} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {RpcConnection} from '../../rpc/rpc-connection.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';

/** Timeout of the handshake with a new worker. */
const START_TIMEOUT_MS = 15_000;
/** A worker is kept this long after its last use, for the next one. */
export const IDLE_TIMEOUT_MS = 10_000;

export interface FsWorkerEvents {
	/** A notification from the worker, such as a change of a watch. */
	onNotification(notification: Notification, worker: FsWorker): void;
	onClosed(worker: FsWorker): void;
}

/** Starts the worker process; the transport is its standard input and output. */
export type OpenWorkerTransport = () => Transport | Promise<Transport>;

/**
 * Worker process: another server like this one, inside a sandbox, that does file operations with the sandbox's view of
 * the files. The kernel decides what it reaches, so there is no race between a check of paths and their use.
 */
export class FsWorker {
	readonly #events: FsWorkerEvents;
	readonly #ready: Promise<RpcConnection>;
	#rpc: RpcConnection | undefined;
	#uses = 0;
	#idleTimer: NodeJS.Timeout | undefined;
	#isClosed = false;

	constructor(launch: OpenWorkerTransport, events: FsWorkerEvents) {
		this.#events = events;
		this.#ready = this.#start(launch);
		// The error itself is reported by `request`.
		this.#ready.catch(() => this.close());
	}

	get isIdle(): boolean {
		return this.#uses === 0;
	}

	/** The worker's result; its errors are passed on unchanged. */
	async request(method: string, params: unknown): Promise<unknown> {
		const release = this.hold();
		try {
			const rpc = await this.#ready;
			return await rpc.request(method, params);
		} catch (error) {
			throw error instanceof DisconnectedError
				? workerError('FILE_FAILED', `fs sandbox ended: ${error.message}`, error)
				: error;
		} finally {
			release();
		}
	}

	/** Keeps the worker alive until the returned function is called. */
	hold(): () => void {
		let isHeld = true;
		this.#uses++;
		clearTimeout(this.#idleTimer);
		return () => {
			if (!isHeld) return;
			isHeld = false;
			if (--this.#uses === 0) this.#idleTimer = setTimeout(() => this.close(), IDLE_TIMEOUT_MS).unref();
		};
	}

	/** Pauses reading from the worker until the returned function is called. */
	holdReading(): () => void {
		return this.#rpc?.holdReading() ?? (() => {});
	}

	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		clearTimeout(this.#idleTimer);
		this.#rpc?.destroy();
		this.#events.onClosed(this);
	}

	async #start(launch: OpenWorkerTransport): Promise<RpcConnection> {
		try {
			const rpc = new RpcConnection(await launch(), 'client', this.#service());
			this.#rpc = rpc;
			rpc.open();
			if (this.#isClosed) rpc.destroy();
			await rpc.request('initialize', {clientName: 'longarm'}, {signal: AbortSignal.timeout(START_TIMEOUT_MS)});
			rpc.notify('initialized', {});
			return rpc;
		} catch (error) {
			// An error of the launch itself, such as a missing `ownCommand`, has its own code and text.
			if (error instanceof LongarmError) throw error;
			const reason = errorMessage(error);
			throw workerError('FILE_REFUSED', `failed to prepare fs sandbox: ${reason}`, error);
		}
	}

	#service(): ConstructorParameters<typeof RpcConnection>[2] {
		return {
			request: ({method}) => {
				throw new RpcError(METHOD_NOT_FOUND, `unexpected \`${method}\``);
			},
			notification: notification => {
				this.#events.onNotification(notification, this);
				return true;
			},
			closed: () => this.close(),
		};
	}
}

function workerError(code: 'FILE_REFUSED' | 'FILE_FAILED', message: string, cause: unknown): LongarmError {
	return new LongarmError(code, {message, cause});
}
