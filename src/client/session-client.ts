import {decode} from '../protocol/decode.js';
import type {JsonParts} from '../protocol/encode.js';
import type {Notification} from '../protocol/envelope.js';
import {METHODS, type ParamsOnWire, type RequestName, type Result} from '../protocol/methods.js';
import {DisconnectedError, RpcConnection, type Service} from '../rpc/connection.js';
import type {Transport} from '../transports/transport.js';
import type {NumberedEvent} from './process-events.js';
import {RemoteProcess} from './remote-process.js';

/** How long the server may take for the handshake. */
export const INITIALIZE_TIMEOUT_MS = 10_000;

export interface SessionClientOptions {
	readonly clientName?: string;
	readonly initializeTimeoutMs?: number;
	readonly resumeSessionId?: string;
}

/** Calls methods of the server by name, with results checked and decoded. */
export interface Caller {
	call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>>;
}

export interface StartedProcess {
	readonly process: RemoteProcess;
	readonly sandboxType: Result<'process/start'>['sandboxType'];
}

/**
 * One session on one connection. When the connection is lost, so is the session: processes fail with the reason, reads
 * of them say so, and every other call fails with the same words.
 */
export class SessionClient implements Caller, AsyncDisposable {
	readonly #rpc: RpcConnection;
	readonly #processes = new Map<string, RemoteProcess>();
	readonly #disconnected: Promise<Error>;
	#hello: Result<'initialize'> | undefined;

	/** Starts reading before the first word: a resumed session may have much to say. Closes the transport on failure. */
	static async open(transport: Transport, options: SessionClientOptions = {}): Promise<SessionClient> {
		const client = new SessionClient(transport);
		try {
			await client.#initialize(options);
			return client;
		} catch (error) {
			client.#rpc.destroy();
			throw error;
		}
	}

	private constructor(transport: Transport) {
		let tell: (error: Error) => void = () => {};
		this.#disconnected = new Promise(resolve => {
			tell = resolve;
		});
		const service: Service = {
			request: ({method}) => {
				throw new Error(`unexpected request ${method}`);
			},
			notification: notification => this.#notified(notification),
			closed: error => {
				const disconnect = new DisconnectedError(error);
				for (const process of this.#processes.values()) process.fail(disconnect.message);
				this.#processes.clear();
				tell(disconnect);
			},
		};
		this.#rpc = new RpcConnection(transport, 'client', service);
		this.#rpc.open();
	}

	get sessionId(): string {
		return this.#hello!.sessionId;
	}

	/** What the server says it can do; empty where it does not say. */
	get capabilities(): Readonly<Record<string, boolean>> {
		return this.#hello?.environmentInfo?.capabilities ?? {};
	}

	/** Settles with the reason when the connection is lost or closed. */
	get disconnected(): Promise<Error> {
		return this.#disconnected;
	}

	async call<M extends RequestName>(method: M, params: ParamsOnWire<M> | JsonParts): Promise<Result<M>> {
		const result = await this.#rpc.request(method, params);
		return decode(METHODS[method].result, result) as Result<M>;
	}

	/** Starts a process. It is known here before the server answers, so that none of its events is missed. */
	async start(params: ParamsOnWire<'process/start'>): Promise<StartedProcess> {
		const {processId} = params;
		if (this.#processes.has(processId)) throw new Error(`session already registered for process ${processId}`);
		const process = new RemoteProcess(processId, this);
		if (!this.#rpc.closed) this.#processes.set(processId, process);
		try {
			const {sandboxType} = await this.call('process/start', params);
			return {process, sandboxType};
		} catch (error) {
			if (this.#processes.get(processId) === process) this.#processes.delete(processId);
			throw error;
		}
	}

	close(): void {
		this.#rpc.close();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.close();
		await this.#disconnected;
	}

	async #initialize({clientName = 'longarm', resumeSessionId, ...options}: SessionClientOptions): Promise<void> {
		const timeoutMs = options.initializeTimeoutMs ?? INITIALIZE_TIMEOUT_MS;
		const hello = this.call('initialize', {clientName, resumeSessionId: resumeSessionId ?? null});
		this.#hello = await within(timeoutMs, hello);
		if (resumeSessionId !== undefined && this.#hello.sessionId !== resumeSessionId) {
			throw new Error(`exec-server initialized an unexpected session ${this.#hello.sessionId}`);
		}
		this.#rpc.notify('initialized', {});
	}

	/** What is about a process nobody knows here is ignored. */
	#notified({method, params}: Notification): boolean {
		const event = toEvent(method, params);
		if (!event) return true;
		const process = this.#processes.get(event.processId);
		process?.receive(event.event);
		if (process?.isOver) this.#processes.delete(event.processId);
		return true;
	}
}

function toEvent(method: string, params: unknown): {processId: string; event: NumberedEvent} | undefined {
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

async function within<T>(timeoutMs: number, promise: Promise<T>): Promise<T> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<never>((_resolve, reject) => {
		const message = `timed out waiting for exec-server initialize handshake after ${timeoutMs / 1000}s`;
		timer = setTimeout(() => reject(new Error(message)), timeoutMs);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
	}
}
