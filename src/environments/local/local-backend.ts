import type {Files} from '../../client/files/files.js';
import type {Http} from '../../client/http/http.js';
import type {Ports} from '../../client/ports/ports.js';
import type {
	Processes,
	ProcessHandle,
	StartedProcess,
	StartOptions,
	StartParams,
	UnattachedProcess,
} from '../../client/process/process-handle.js';
import type {AttachProcessOptions, ListedProcess, ListProcessesOptions} from '../../client/process/shared-process.js';
import {ClosedError} from '../../client/session/closed-error.js';
import type {ServerDescription} from '../../client/session/connection.js';
import type {RemoteStatus} from '../../client/session/lazy-client.js';
import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {LongarmError} from '../../shared/errors.js';
import type {EnvironmentBackend} from '../environment-backend.js';
import type {RemoteBackend} from '../remote/remote-backend.js';
import type {LocalDaemon} from './local-daemon.js';
import type {LocalFiles} from './local-files.js';
import type {LocalHttp} from './local-http.js';
import type {LocalPorts} from './local-ports.js';
import {LocalProcesses} from './local-processes.js';

/** Options of a `LocalBackend`. */
export interface LocalBackendOptions {
	/** Command of the daemon in place of this package's own. */
	readonly daemonCommand?: readonly string[] | undefined;
}

/**
 * This machine, without a wire: its connection is never lost. Processes that outlive this program are those of a daemon,
 * which is connected to when it is needed.
 */
export class LocalBackend implements EnvironmentBackend {
	readonly processes: Processes = {
		start: (params, options) => this.#start(params, options),
		list: options => this.#list(options),
		attach: (idOrName, options) => this.#attach(idOrName, options),
		reference: idOrName => this.#refer(idOrName),
	};
	readonly #own: LocalProcesses;
	readonly #daemonCommand: readonly string[] | undefined;
	readonly #variables: Readonly<Record<string, string | undefined>>;
	#files: Promise<LocalFiles> | undefined;
	#server: Promise<RemoteBackend> | undefined;
	#http: Promise<LocalHttp> | undefined;
	#ports: Promise<LocalPorts> | undefined;
	#daemon: Promise<LocalDaemon> | undefined;
	#isClosed = false;

	constructor(variables: Readonly<Record<string, string | undefined>>, {daemonCommand}: LocalBackendOptions = {}) {
		this.#variables = variables;
		this.#daemonCommand = daemonCommand;
		this.#own = new LocalProcesses(variables);
	}

	/** Sandboxed calls go to a server of this program's own, which runs them in processes that the kernel restricts. */
	async loadFiles(isSandboxed = false): Promise<Files> {
		if (this.#isClosed) return (await import('./closed-parts.js')).closedFiles;
		if (isSandboxed) {
			this.#server ??= import('./own-server.js').then(loaded =>
				loaded.startOwnServer(this.#variables, this.#daemonCommand),
			);
			return (await this.#server).loadFiles();
		}
		this.#files ??= import('./local-files.js').then(loaded => new loaded.LocalFiles());
		return this.#files;
	}

	async loadHttp(): Promise<Http> {
		if (this.#isClosed) return (await import('./closed-parts.js')).closedHttp;
		this.#http ??= import('./local-http.js').then(loaded => new loaded.LocalHttp(this.#variables));
		return this.#http;
	}

	async loadPorts(): Promise<Ports> {
		if (this.#isClosed) return (await import('./closed-parts.js')).closedPorts;
		this.#ports ??= import('./local-ports.js').then(loaded => new loaded.LocalPorts());
		return this.#ports;
	}

	async member(): Promise<undefined> {
		return undefined;
	}

	async server(): Promise<ServerDescription> {
		const info = await this.info();
		return {dialect: 'current', info, capabilities: info.capabilities ?? {}};
	}

	async sessionId(): Promise<undefined> {
		this.#requireOpen();
		return undefined;
	}

	/** That of the daemon, if it runs. */
	async upgrade(to?: string): Promise<ServerDescription> {
		this.#requireOpen();
		const daemon = await (await this.#loadDaemon()).find('none');
		if (daemon) return daemon.upgrade(to);
		throw new LongarmError('UPGRADE_FAILED', {
			message: 'no local daemon is running: there is nothing to upgrade',
			hint: 'The next longarm run -d starts one, of the version that is installed; another server is named with -e.',
		});
	}

	async info(): Promise<EnvironmentInfo> {
		this.#requireOpen();
		const {describeEnvironment} = await import('../../adapters/environment-info.js');
		// Output on disk, and processes that survive a crash, are with the daemon.
		return describeEnvironment(this.#variables, {forwardsPorts: true, keepsOutput: true, keepsProcesses: () => true});
	}

	async status(): Promise<RemoteStatus> {
		return this.#isClosed ? {kind: 'disconnected', error: new ClosedError().message} : {kind: 'ready'};
	}

	onDisconnect(): () => void {
		return () => {};
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		const [server, http, ports] = await Promise.all([this.#server?.catch(() => {}), this.#http, this.#ports]);
		http?.[Symbol.dispose]();
		ports?.[Symbol.dispose]();
		await Promise.all([this.#own.close(), server?.close()]);
		await (await this.#daemon)?.close();
	}

	/** Fails as an environment whose connection was closed does. */
	#requireOpen(): void {
		if (this.#isClosed) throw new ClosedError();
	}

	async #start(params: StartParams, options?: StartOptions): Promise<StartedProcess> {
		this.#requireOpen();
		if (!isForDaemon(params)) return this.#own.start(params, options);
		const [daemon, {toDaemonStart}] = await Promise.all([this.#loadDaemon(), import('./daemon-start.js')]);
		const {processes} = await daemon.open();
		return processes.start(toDaemonStart(params, this.#variables), options);
	}

	/** A daemon that does not run, and has left none, has no processes. */
	async #list(options: ListProcessesOptions = {}): Promise<ListedProcess[]> {
		this.#requireOpen();
		const own = await this.#own.list(options);
		const left = options.includeEnded ? 'any' : 'running';
		const daemon = options.all ? await (await this.#loadDaemon()).find(left) : undefined;
		return daemon ? [...own, ...(await daemon.processes.list(options))] : own;
	}

	async #attach(idOrName: string, options?: AttachProcessOptions): Promise<ProcessHandle> {
		this.#requireOpen();
		if (this.#own.has(idOrName)) return this.#own.attach(idOrName);
		const daemon = await (await this.#loadDaemon()).find();
		return daemon ? daemon.processes.attach(idOrName, options) : this.#own.attach(idOrName);
	}

	async #refer(idOrName: string): Promise<UnattachedProcess> {
		this.#requireOpen();
		if (this.#own.has(idOrName)) return this.#own.reference(idOrName);
		const daemon = await (await this.#loadDaemon()).find();
		return daemon ? daemon.processes.reference(idOrName) : this.#own.reference(idOrName);
	}

	#loadDaemon(): Promise<LocalDaemon> {
		const options = {variables: this.#variables, command: this.#daemonCommand};
		this.#daemon ??= import('./local-daemon.js').then(loaded => new loaded.LocalDaemon(options));
		return this.#daemon;
	}
}

/** A process that outlives this program, or is there for others. */
function isForDaemon({onDisconnect, durable, share}: StartParams): boolean {
	return onDisconnect === 'keep' || durable === true || (share !== undefined && share !== null);
}
