import {toStartRequest} from '../../adapters/start-request.js';
import type {Processes, StartedProcess, StartOptions, StartParams} from '../../client/process/process-handle.js';
import {LIST_OPTIONS, type ListedProcess, type ListProcessesOptions} from '../../client/process/shared-process.js';
import {startWithSignal} from '../../client/process/start-with-signal.js';
import {selectBackend} from '../../processes/backends/select-backend.js';
import type {ManagedProcess} from '../../processes/managed-process.js';
import type {StartRequest} from '../../processes/prepare-spawn.js';
import {hasLabels} from '../../processes/process-sharing.js';
import {ProcessTable} from '../../processes/process-table.js';
import {StartQueue} from '../../processes/start-queue.js';
import type {Params} from '../../protocol/methods/method-table.js';
import {startParams} from '../../protocol/methods/process-methods.js';
import {decode} from '../../protocol/wire/decode.js';
import type {Sandbox} from '../../sandbox/sandbox.js';
import {DEFAULTS} from '../../server/options.js';
import {readOptions} from '../../shared/call-options.js';
import {LongarmError} from '../../shared/errors.js';
import {LocalProcess, needsDaemonError, toRejectedError} from './local-process.js';

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
			const {name} = process.sharing;
			this.#handles.set(process, new LocalProcess(process, {backpressure: this.#lossless.has(process.id), name}));
		});
	}

	start(params: StartParams, options: StartOptions = {}): Promise<StartedProcess> {
		return startWithSignal(options, () => this.#start(params, options));
	}

	/** Processes that were started here and are still kept; there are no other clients. */
	async list(options: ListProcessesOptions = {}): Promise<ListedProcess[]> {
		const {labels = {}} = readOptions<ListProcessesOptions>(options, LIST_OPTIONS, 'list()');
		const {describeProcess} = await import('../../adapters/describe-process.js');
		return [...this.#table].filter(process => hasLabels(process.sharing, labels)).map(describeProcess);
	}

	/** The handle of a process that was started here and is still kept, by its id or name. */
	async attach(idOrName: string): Promise<LocalProcess> {
		const handle = this.find(idOrName);
		if (handle) return handle;
		const message = `unknown process id ${idOrName}`;
		throw toRejectedError(new LongarmError('PROCESS_UNKNOWN', {message, context: {processId: idOrName}}));
	}

	/** The handle itself: there are no events to be spared. */
	reference(idOrName: string): Promise<LocalProcess> {
		return this.attach(idOrName);
	}

	/** Undefined if it was not started here, or is not kept any more. */
	find(idOrName: string): LocalProcess | undefined {
		const process = this.#table.find(idOrName);
		if (process) return this.#handles.get(process);
		// The latest one: a process that has ended frees its name.
		return [...this.#handles.values()].filter(({name}) => name === idOrName).at(-1);
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
			this.#requireOwn(decoded);
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

	/** Refuses a name that is taken, and whatever only a server can do. */
	#requireOwn({name, spill, record, share, durable}: Params<'process/start'>): void {
		for (const [what, value] of Object.entries({spill, record, share, durable})) {
			if (value) throw needsDaemonError(what);
		}
		const holder = name && [...this.#handles.values()].find(handle => handle.name === name && !handle.isOver);
		if (holder) throw new LongarmError('PROCESS_EXISTS', {message: `a process named ${name} is running`});
	}

	/** The table makes the entry before it returns. */
	#enter(id: string, request: StartRequest, isLossless: boolean): Promise<ManagedProcess> {
		if (isLossless) this.#lossless.add(id);
		try {
			return this.#table.start(id, request);
		} finally {
			this.#lossless.delete(id);
		}
	}
}
