import {toStartRequest} from '../../adapters/start-request.js';
import {hasStdin} from '../../client/process/input-closed.js';
import type {
	Processes,
	StartedProcess,
	StartOptions,
	StartParams,
	UnattachedProcess,
} from '../../client/process/process-handle.js';
import {LIST_OPTIONS, type ListedProcess, type ListProcessesOptions} from '../../client/process/shared-process.js';
import {startWithSignal} from '../../client/process/start-with-signal.js';
import {ClosedError} from '../../client/session/closed-error.js';
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
import {Lifetime} from '../../shared/async/lifetime.js';
import {readOptions} from '../../shared/call-options.js';
import {LongarmError} from '../../shared/errors.js';
import {type AskedProcesses, LocalCaller} from './local-caller.js';
import {LocalProcess, type LocalProcessOptions, needsDaemonError} from './local-process.js';
import {toRejectedError} from './rejected-locally.js';

/** Name of a client that has given none. */
const CLIENT_NAME = 'longarm';

/** The processes this program starts on its own machine; they end with it. */
export class LocalProcesses implements Processes {
	readonly #table: ProcessTable;
	readonly #handles = new Map<ManagedProcess, LocalProcess>();
	readonly #asked: AskedProcesses = {
		require: idOrName => this.#require(idOrName),
		remove: process => this.#table.remove(process),
	};
	/** Options of the handles of processes that are being started, by id. */
	readonly #starting = new Map<string, Omit<LocalProcessOptions, 'processes' | 'name'>>();
	readonly #variables: Readonly<Record<string, string | undefined>>;
	#sandbox: Sandbox | undefined;
	/** Ends with the environment. */
	readonly #lifetime = new Lifetime();

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
			const options = {...this.#starting.get(process.id), processes: this.#asked, name};
			this.#handles.set(process, new LocalProcess(process, options));
		});
	}

	start(params: StartParams, options: StartOptions = {}): Promise<StartedProcess> {
		return startWithSignal(options, () => this.#start(params, options));
	}

	/** Processes that were started here and are still kept; there are no other clients. */
	async list(options: ListProcessesOptions = {}): Promise<ListedProcess[]> {
		const {labels = {}} = readOptions<ListProcessesOptions>(options, LIST_OPTIONS, 'list()');
		const [{describeProcess}, {generation}] = await Promise.all([
			import('../../adapters/describe-process.js'),
			import('../../server/generation.js'),
		]);
		// This program is the one client, under the name that clients have by default.
		const describe = (process: ManagedProcess): ListedProcess => ({
			...describeProcess(process),
			attached: [{client: CLIENT_NAME, role: 'drive', sinceMs: Math.round(process.ageMs), isSelf: true}],
			driver: CLIENT_NAME,
			generation: generation(),
		});
		return [...this.#table].filter(process => hasLabels(process.sharing, labels)).map(describe);
	}

	/** The handle of a process that was started here and is still kept, by its id or name. */
	async attach(idOrName: string): Promise<LocalProcess> {
		try {
			return this.#handles.get(this.#require(idOrName))!;
		} catch (error) {
			throw toRejectedError(error);
		}
	}

	/** Whether there is such a process shows at the first question, as on another machine. */
	async reference(idOrName: string): Promise<UnattachedProcess> {
		const {RemoteReference} = await import('../../client/process/remote-reference.js');
		return new RemoteReference(idOrName, new LocalCaller(this.#asked, this.#lifetime));
	}

	/** False if it was not started here, or is not kept any more. */
	has(idOrName: string): boolean {
		return this.#find(idOrName) !== undefined;
	}

	#find(idOrName: string): ManagedProcess | undefined {
		// The latest one: a process that has ended frees its name.
		return this.#table.find(idOrName) ?? [...this.#table].filter(({sharing}) => sharing.name === idOrName).at(-1);
	}

	#require(idOrName: string): ManagedProcess {
		const process = this.#find(idOrName);
		if (process) return process;
		const message = `unknown process id ${idOrName}`;
		throw new LongarmError('PROCESS_UNKNOWN', {message, context: {processId: idOrName}});
	}

	/** Ends everything that was started, and whatever that left behind. */
	async close(): Promise<void> {
		this.#lifetime.close();
		this.#table.endAll('force');
		await this.#table.allClosed();
		this.#table.dispose();
	}

	async #start(params: StartParams, {backpressure = false, timeout = Infinity}: StartOptions): Promise<StartedProcess> {
		try {
			this.#requireOpen();
			const limit = timeout === Infinity ? {} : {timeoutMs: Math.min(Math.ceil(timeout), Number.MAX_SAFE_INTEGER)};
			// As the wire does: a member that is undefined is not there.
			const decoded = decode(startParams, JSON.parse(JSON.stringify({...params, ...limit})));
			this.#requireOwn(decoded);
			const request = decoded.sandbox ? await this.#plan(decoded) : toStartRequest(decoded);
			const process = await this.#enter(decoded.processId, request, {backpressure, hasStdin: hasStdin(params)});
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
		if (this.#lifetime.isClosed) throw new ClosedError();
	}

	/** Refuses a name that is taken, and whatever only a server can do. */
	#requireOwn({name, spill, record, share, durable}: Params<'process/start'>): void {
		for (const [what, value] of Object.entries({spill, record, share, durable})) {
			if (value) throw needsDaemonError(what);
		}
		const holder = name && [...this.#table].find(process => process.sharing.name === name && !hasEnded(process));
		if (!holder) return;
		const message = `the name ${name} is that of process ${holder.id}, which has not ended`;
		throw new LongarmError('PROCESS_EXISTS', {message, context: {processId: holder.id}});
	}

	/** The table makes the entry before it returns. */
	#enter(
		id: string,
		request: StartRequest,
		options: Omit<LocalProcessOptions, 'processes' | 'name'>,
	): Promise<ManagedProcess> {
		this.#starting.set(id, options);
		try {
			return this.#table.start(id, request);
		} finally {
			this.#starting.delete(id);
		}
	}
}

function hasEnded({isAlive, state}: ManagedProcess): boolean {
	return !isAlive && state.kind !== 'exited';
}
