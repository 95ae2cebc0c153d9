import type {FileLocation} from '../client/files/file-location.js';
import type {Files} from '../client/files/files.js';
import type {Http} from '../client/http/http.js';
import type {Path} from '../client/paths.js';
import type {PortConnection} from '../client/ports/port-connection.js';
import type {PortTarget} from '../client/ports/ports.js';
import type {
	Processes,
	ProcessHandle,
	StartedProcess,
	StartOptions,
	StartParams,
} from '../client/process/process-handle.js';
import type {AttachProcessOptions} from '../client/process/shared-process.js';
import {
	COMMAND_OPTIONS,
	type ProcessHost,
	type RunCommandOptions,
	startOn,
	toStartParams,
} from '../client/run/command.js';
import type {Communicated, CommunicateOptions} from '../client/run/communicate.js';
import type {RunOptions} from '../client/run/run.js';
import type {RunResult} from '../client/run/run-result.js';
import type {ShellOptions} from '../client/run/shell-command.js';
import type {WaitCondition, WaitOptions, WaitResultOf} from '../client/run/wait-for.js';
import type {ServerDescription} from '../client/session/connection.js';
import type {DisconnectListener, RemoteStatus} from '../client/session/lazy-client.js';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
import {type OptionTable, readOptions, type WithDurations} from '../shared/call-options.js';
import type {Duration} from '../shared/units.js';
import type {EnvironmentBackend} from './environment-backend.js';
import {LazyFiles} from './lazy-files.js';
import {type RemoteOptions, type RemoteTarget, readTarget} from './remote/remote-target.js';

/** Options of `Environment.start`. */
export interface StartCommandOptions extends RunCommandOptions, Omit<StartOptions, 'timeout'> {
	/** Ends the process and everything below it after so many milliseconds, or `'5s'`, whatever becomes of the connection. */
	readonly timeout?: Duration | undefined;
}

const START_OPTIONS: OptionTable<StartCommandOptions> = {
	...COMMAND_OPTIONS,
	signal: 'signal',
	backpressure: 'flag',
	timeout: 'duration',
};

/**
 * Processes, files and network of one machine: this one, without any wire, or another, connected when it is needed.
 * Everything behind it is loaded at its first use, so that a command that is over in no time pays for no more.
 */
export class Environment implements ProcessHost, AsyncDisposable {
	readonly id: string;
	readonly kind: 'local' | 'remote';
	readonly processes: Processes = {
		start: (params, options) => this.#startProcess(params, options),
		list: async options => (await this.#backend()).processes.list(options),
		attach: (idOrName, options) => this.attach(idOrName, options),
		reference: async idOrName => (await this.#backend()).processes.reference(idOrName),
	};
	readonly files: Files = new LazyFiles(async isSandboxed => (await this.#backend()).loadFiles(isSandboxed));
	/** A request from the machine's place in the network; may be passed on by itself. */
	readonly fetch: Http['fetch'] = async (input, init) => {
		const http = await (await this.#backend()).loadHttp();
		return http.fetch(input, init);
	};
	readonly #loadBackend: () => Promise<EnvironmentBackend>;
	#loading: Promise<EnvironmentBackend> | undefined;
	readonly #disconnectListeners = new Set<DisconnectListener>();

	/** This machine. */
	static local(id = 'local', variables: Readonly<Record<string, string | undefined>> = process.env): Environment {
		return new Environment(id, 'local', async () => {
			const {LocalBackend} = await import('./local/local-backend.js');
			return new LocalBackend(variables);
		});
	}

	/**
	 * Another machine, by its target or by the address of its server: `ws://…`, `wss://…`, `registry+https://HUB/ID`, `unix:PATH`
	 * or `cmd:COMMAND`. For `registry+https://HUB/pool:NAME` and `/@KEY=VALUE` the hub chooses one that has room.
	 * Begins to connect in the background where that costs nothing but a socket.
	 */
	static remote(
		id: string,
		address: string | WithDurations<RemoteTarget>,
		options?: WithDurations<RemoteOptions>,
	): Environment {
		const target = readTarget(address, options);
		const environment = new Environment(id, 'remote', async () => {
			if (target.kind === 'command') {
				const {CommandBackend} = await import('./remote/command-backend.js');
				return new CommandBackend(target);
			}
			const {RemoteBackend} = await import('./remote/remote-backend.js');
			return new RemoteBackend(target);
		});
		environment.#backend().catch(() => {});
		return environment;
	}

	private constructor(id: string, kind: 'local' | 'remote', loadBackend: () => Promise<EnvironmentBackend>) {
		this.id = id;
		this.kind = kind;
		this.#loadBackend = loadBackend;
	}

	/** Starts a command, with what people expect where nothing is said: this machine's variables and directory. */
	async start(argv: readonly string[], options: StartCommandOptions = {}): Promise<ProcessHandle> {
		const read = readOptions<StartCommandOptions>(options, START_OPTIONS, 'start()');
		const {signal, backpressure, timeout, ...command} = read;
		const params = await toStartParams(this, argv, command);
		return (await startOn(this, params, {signal, backpressure, timeout})).process;
	}

	/** Runs a command to its end. */
	async run(argv: readonly string[], options?: RunOptions): Promise<RunResult> {
		const {run} = await import('../client/run/run.js');
		return run(this, argv, options);
	}

	/** Runs a command line by the machine's shell, to its end. */
	async shell(line: string, options?: ShellOptions): Promise<RunResult> {
		const {runCommandLine} = await import('../client/run/shell-command.js');
		return runCommandLine(this, line, options);
	}

	/** Writes the input and collects the output of a process until both are over. */
	async communicate(process: ProcessHandle, options?: CommunicateOptions): Promise<Communicated> {
		const {communicate} = await loadOutputReaders();
		return communicate(process, options);
	}

	/** Waits for something a process of this machine does. */
	async waitFor<K extends keyof WaitCondition>(
		process: ProcessHandle,
		condition: Pick<WaitCondition, K>,
		options?: WaitOptions,
	): Promise<WaitResultOf<K>> {
		await loadOutputReaders();
		return process.waitFor(condition, {files: this.files, ...options});
	}

	/** Connects to a TCP port as the machine sees it, one of its own loopback addresses say. */
	async connect(target: PortTarget): Promise<PortConnection> {
		const ports = await (await this.#backend()).loadPorts();
		return ports.connect(target);
	}

	/**
	 * Address of the machine that a hub has chosen, for an environment such as `registry+https://HUB/pool:gpu`: processes are
	 * found there again. Connects for it; undefined for an environment that names its machine.
	 */
	async member(): Promise<string | undefined> {
		return (await this.#backend()).member?.();
	}

	/** The server that answers for the machine. Connects for it. */
	async server(): Promise<ServerDescription> {
		return (await this.#backend()).server();
	}

	/**
	 * Id of the session at the server, with which a later client can carry on (`resumeSessionId`). Connects for it;
	 * undefined where there are no sessions.
	 */
	async sessionId(): Promise<string | undefined> {
		return (await this.#backend()).sessionId();
	}

	/**
	 * A process that was started before, by its id or name: by this program, by the one whose session was resumed, or by any
	 * other where the server has `processAttach`.
	 */
	async attach(idOrName: string, options?: AttachProcessOptions): Promise<ProcessHandle> {
		const [backend] = await Promise.all([this.#backend(), loadOutputReaders()]);
		return backend.processes.attach(idOrName, options);
	}

	/** A path of this machine, for `transfer` and `copyFiles`. */
	at(path: Path): FileLocation {
		return {files: this.files, path};
	}

	/**
	 * Replaces the server by another version of itself, or by the program at `to`; its processes run on. Only over a unix
	 * socket. Settles with the description of the new one; of this machine the local daemon is meant.
	 */
	async upgrade(to?: string): Promise<ServerDescription> {
		return (await this.#backend()).upgrade(to);
	}

	/** The machine's description of itself. */
	async info(): Promise<EnvironmentInfo> {
		return (await this.#backend()).info();
	}

	/** Whether it is there, as far as that is known without connecting. */
	async status(): Promise<RemoteStatus> {
		return (await this.#backend()).status();
	}

	/** Hears of every lost connection, until the returned function is called; this machine is never lost. */
	onDisconnect(listener: DisconnectListener): () => void {
		this.#disconnectListeners.add(listener);
		return () => this.#disconnectListeners.delete(listener);
	}

	/** Ends what runs here, or the connection; a remote server decides what becomes of its processes. */
	async close(): Promise<void> {
		await (await this.#backend()).close();
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	/** Every call waits for the same promise, so calls reach the backend in the order they were made. */
	#backend(): Promise<EnvironmentBackend> {
		this.#loading ??= this.#load();
		return this.#loading;
	}

	async #load(): Promise<EnvironmentBackend> {
		const backend = await this.#loadBackend();
		backend.onDisconnect((error, recovered) => {
			for (const listener of this.#disconnectListeners) listener(error, recovered);
		});
		return backend;
	}

	/** A process that does not wait for its reader must not run ahead while the code of that reader is loaded. */
	async #startProcess(params: StartParams, options?: StartOptions): Promise<StartedProcess> {
		const [backend] = await Promise.all([this.#backend(), options?.backpressure ? undefined : loadOutputReaders()]);
		return backend.processes.start(params, options);
	}
}

type OutputReaders = Pick<typeof import('../client/run/communicate.js'), 'communicate'>;

let outputReaders: Promise<OutputReaders> | undefined;

function loadOutputReaders(): Promise<OutputReaders> {
	outputReaders ??= importOutputReaders();
	return outputReaders;
}

/** The second one is for handles, which load it themselves. */
async function importOutputReaders(): Promise<OutputReaders> {
	const [{communicate}] = await Promise.all([
		import('../client/run/communicate.js'),
		import('../client/run/wait-for.js'),
	]);
	return {communicate};
}
