import type {Notification} from '../../protocol/wire/envelope.js';
import {METHOD_NOT_FOUND, RpcError} from '../../protocol/wire/error-codes.js';
import {DisconnectedError} from '../../rpc/disconnected-error.js';
import {RpcConnection} from '../../rpc/rpc-connection.js';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';

/** How long it may take to answer for the first time. */
const START_MS = 15_000;
/** Kept after its last use, for the next one. */
export const IDLE_MS = 10_000;

export interface FsWorkerEvents {
	/** What it tells by itself. */
	notified(notification: Notification, worker: FsWorker): void;
	closed(worker: FsWorker): void;
}

/** Starts the program; its standard input and output. */
export type LaunchFsWorker = () => Transport | Promise<Transport>;

/**
 * Another server like this one, inside a sandbox. What it is asked it does with the sandbox's view of the files, so
 * that the kernel decides what it reaches, and not a comparison of paths that somebody may change meanwhile.
 */
export class FsWorker {
	readonly #events: FsWorkerEvents;
	readonly #ready: Promise<RpcConnection>;
	#rpc: RpcConnection | undefined;
	#uses = 0;
	#idle: NodeJS.Timeout | undefined;
	#isClosed = false;

	constructor(launch: LaunchFsWorker, events: FsWorkerEvents) {
		this.#events = events;
		this.#ready = this.#start(launch);
		// Whoever asks learns of it.
		this.#ready.catch(() => this.close());
	}

	get isIdle(): boolean {
		return this.#uses === 0;
	}

	/** Its answer, or its error as it gave it. */
	async request(method: string, params: unknown): Promise<unknown> {
		const release = this.hold();
		try {
			const rpc = await this.#ready;
			return await rpc.request(method, params);
		} catch (error) {
			throw error instanceof DisconnectedError
				? failed('FILE_FAILED', `fs sandbox ended: ${error.message}`, error)
				: error;
		} finally {
			release();
		}
	}

	/** Keeps it alive until the returned function is called. */
	hold(): () => void {
		let held = true;
		this.#uses++;
		clearTimeout(this.#idle);
		return () => {
			if (!held) return;
			held = false;
			if (--this.#uses === 0) this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
		};
	}

	/** Takes nothing more from it until the returned function is called. */
	holdReading(): () => void {
		return this.#rpc?.holdReading() ?? (() => {});
	}

	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		clearTimeout(this.#idle);
		this.#rpc?.destroy();
		this.#events.closed(this);
	}

	async #start(launch: LaunchFsWorker): Promise<RpcConnection> {
		try {
			const rpc = new RpcConnection(await launch(), 'client', this.#service());
			this.#rpc = rpc;
			rpc.open();
			if (this.#isClosed) rpc.destroy();
			await rpc.request('initialize', {clientName: 'longarm'}, {signal: AbortSignal.timeout(START_MS)});
			rpc.notify('initialized', {});
			return rpc;
		} catch (error) {
			// What cannot be had at all says so itself.
			if (error instanceof LongarmError) throw error;
			const reason = errorMessage(error);
			throw failed('FILE_REFUSED', `failed to prepare fs sandbox: ${reason}`, error);
		}
	}

	#service(): ConstructorParameters<typeof RpcConnection>[2] {
		return {
			request: ({method}) => {
				throw new RpcError(METHOD_NOT_FOUND, `unexpected \`${method}\``);
			},
			notification: notification => {
				this.#events.notified(notification, this);
				return true;
			},
			closed: () => this.close(),
		};
	}
}

function failed(code: 'FILE_REFUSED' | 'FILE_FAILED', message: string, cause: unknown): LongarmError {
	return new LongarmError(code, {message, cause});
}
