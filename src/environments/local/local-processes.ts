import {toStartRequest} from '../../adapters/start-request.js';
import type {Processes, StartedProcess, StartOptions, StartParams} from '../../client/process/process-handle.js';
import {startWithSignal} from '../../client/process/start-with-signal.js';
import {selectBackend} from '../../processes/backends/select-backend.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {StartRequest} from '../../processes/prepare-spawn.js';
import {ProcessTable} from '../../processes/process-table.js';
import {StartQueue} from '../../processes/start-queue.js';
import type {Params} from '../../protocol/methods/method-table.js';
import {startParams} from '../../protocol/methods/process-methods.js';
import {decode} from '../../protocol/wire/decode.js';
import type {Sandbox} from '../../sandbox/sandbox.js';
import {DEFAULTS} from '../../server/options.js';
import {LongarmError} from '../../shared/errors.js';
import {LocalProcess, toRejectedError} from './local-process.js';

/** The processes this program starts on its own machine; they end with it. */
export class LocalProcesses implements Processes {
	readonly #table: ProcessTable;
	readonly #handles = new Map<ManagedProcess, LocalProcess>();
	/** Ids of processes with back-pressure, while they are being started. */
	readonly #lossless = new Set<string>();
	readonly #variables: Readonly<Record<string, string | undefined>>;
	#sandbox: Sandbox | undefined;
	#isClosed = false;

	constructor(variables: Readonly<Record<string, string | undefined>> = process.env) {
		const {retainBytes, retainChunks, retainClosedMs} = DEFAULTS;
		this.#variables = variables;
		this.#table = new ProcessTable({
			backend: selectBackend,
			starts: new StartQueue(),
			retention: {bytes: retainBytes, chunks: retainChunks},
			retainClosedMs,
			variables,
			quotas: [],
			removed: process => this.#handles.delete(process),
		});
		this.#table.onAdded(process => {
			this.#handles.set(process, new LocalProcess(process, {backpressure: this.#lossless.has(process.id)}));
		});
	}

	start(params: StartParams, options: StartOptions = {}): Promise<StartedProcess> {
		return startWithSignal(options, () => this.#start(params, options));
	}

	/** The handle of a process that was started here and is still kept. */
	attach(processId: string): LocalProcess {
		const process = this.#table.find(processId);
		const handle = process && this.#handles.get(process);
		if (handle) return handle;
		const message = `unknown process id ${processId}`;
		throw toRejectedError(new LongarmError('PROCESS_UNKNOWN', {message, context: {processId}}));
	}

	/** Ends everything that was started, and whatever that left behind. */
	async close(): Promise<void> {
		this.#isClosed = true;
		this.#table.endAll('force');
		await this.#table.allClosed();
		this.#table.dispose();
	}

	async #start(params: StartParams, {backpressure}: StartOptions): Promise<StartedProcess> {
		try {
			this.#requireOpen();
			const decoded = decode(startParams, params);
			const request = decoded.sandbox ? await this.#plan(decoded) : toStartRequest(decoded);
			const process = await this.#enter(decoded.processId, request, backpressure === true);
			return {process: this.#handles.get(process)!, sandboxType: request.sandbox?.type ?? 'none'};
		} catch (error) {
			throw toRejectedError(error);
		}
	}

	/** Loaded when it is needed: most processes have no sandbox. */
	async #plan(params: Params<'process/start'>): Promise<StartRequest> {
		const {Sandbox} = await import('../../sandbox/sandbox.js');
		this.#sandbox ??= new Sandbox(this.#variables);
		const request = await toStartRequest(params, this.#sandbox);
		this.#requireOpen();
		return request;
	}

	#requireOpen(): void {
		if (this.#isClosed) throw new LongarmError('SHUTTING_DOWN', {message: 'the environment is closed'});
	}

	/** The table makes the entry before it returns. */
	#enter(id: string, request: StartRequest, backpressure: boolean): Promise<ManagedProcess> {
		if (backpressure) this.#lossless.add(id);
		try {
			return this.#table.start(id, request);
		} finally {
			this.#lossless.delete(id);
		}
	}
}
