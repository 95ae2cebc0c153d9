import type {
	Processes,
	ProcessHandle,
	StartedProcess,
	StartOptions,
	StartParams,
	UnattachedProcess,
} from '../../client/process/process-handle.js';
import type {AttachProcessOptions, ListedProcess, ListProcessesOptions} from '../../client/process/shared-process.js';
import type {ServerDescription} from '../../client/session/connection.js';
import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import {LongarmError} from '../../shared/errors.js';
import {connectDaemon, NoDaemonError} from './connect-daemon.js';
import {connectorFor, RemoteBackend} from './remote-backend.js';
import type {RemoteTarget} from './remote-target.js';

/** Announces that the server connects its client to the daemon of its user. */
const DAEMON_CAPABILITY = 'localDaemon';

/**
 * A machine that is reached by a command, whose server exits with this client. Processes that outlive this client, or that others
 * are to find, are those of the daemon of the user over there, as on this machine.
 */
export class CommandBackend extends RemoteBackend {
	override readonly processes: Processes;
	readonly #own: Processes;
	readonly #target: RemoteTarget;
	#daemon: RemoteBackend | undefined;

	constructor(target: RemoteTarget) {
		super(target);
		this.#target = target;
		this.#own = this.createProcesses();
		this.processes = {
			start: (params, options) => this.#start(params, options),
			list: options => this.#list(options),
			attach: (idOrName, options) => this.#attach(idOrName, options),
			reference: idOrName => this.#refer(idOrName),
		};
	}

	/** Processes that survive a crash are with the daemon. */
	override async server(): Promise<ServerDescription> {
		const description = await super.server();
		const {info, capabilities} = description;
		if (!capabilities[DAEMON_CAPABILITY]) return description;
		const changed = {...capabilities, processDurable: true};
		return {...description, capabilities: changed, info: info && {...info, capabilities: changed}};
	}

	override async info(): Promise<EnvironmentInfo> {
		const info = await super.info();
		return (await this.server()).info ?? info;
	}

	override async close(): Promise<void> {
		await Promise.all([super.close(), this.#daemon?.close()]);
	}

	async #start(params: StartParams, options?: StartOptions): Promise<StartedProcess> {
		if (!isForOthers(params)) return this.#own.start(params, options);
		if (await this.#hasDaemon()) return (await this.#openDaemon('start'))!.processes.start(params, options);
		if (params.onDisconnect === 'keep' && !params.durable) throw endsWithClientError();
		return this.#own.start(params, options);
	}

	async #list(options: ListProcessesOptions = {}): Promise<ListedProcess[]> {
		const own = await this.#own.list(options);
		const daemon = options.all ? await this.#findDaemon() : undefined;
		if (!daemon) return own;
		const known = new Set(own.map(({processId}) => processId));
		return [...own, ...(await daemon.processes.list(options)).filter(({processId}) => !known.has(processId))];
	}

	async #attach(idOrName: string, options?: AttachProcessOptions): Promise<ProcessHandle> {
		return (await this.#findProcesses(idOrName)).attach(idOrName, options);
	}

	async #refer(idOrName: string): Promise<UnattachedProcess> {
		return (await this.#findProcesses(idOrName)).reference(idOrName);
	}

	/** Where a process is: with the daemon, unless the server itself knows it or there is no daemon. */
	async #findProcesses(idOrName: string): Promise<Processes> {
		if (!(await this.#hasDaemon())) return this.#own;
		const own = await this.#own.list({all: true, includeEnded: true});
		if (own.some(({processId, name}) => processId === idOrName || name === idOrName)) return this.#own;
		return (await this.#findDaemon())?.processes ?? this.#own;
	}

	async #hasDaemon(): Promise<boolean> {
		return (await super.server()).capabilities[DAEMON_CAPABILITY] === true;
	}

	async #findDaemon(): Promise<RemoteBackend | undefined> {
		return (await this.#hasDaemon()) ? this.#openDaemon('find') : undefined;
	}

	/** Undefined if none runs and none is to be started. */
	async #openDaemon(how: 'start' | 'find'): Promise<RemoteBackend | undefined> {
		if (this.#daemon) return this.#daemon;
		const {clientName, initializeTimeoutMs} = this.#target;
		const connect = connectDaemon(connectorFor(this.#target), {start: how === 'start'});
		const daemon = new RemoteBackend({kind: 'transport', connect, clientName, initializeTimeoutMs});
		try {
			await daemon.server();
		} catch (error) {
			await daemon.close();
			if (error instanceof NoDaemonError) return undefined;
			throw error;
		}
		this.#daemon ??= daemon;
		return this.#daemon;
	}
}

/** A process that outlives this client, or that others are to find. */
function isForOthers({onDisconnect, durable, share, name, labels, record}: StartParams): boolean {
	return onDisconnect === 'keep' || durable === true || [share, name, labels, record].some(each => each != null);
}

function endsWithClientError(): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {
		message:
			'the process cannot outlive this client: the server of this environment is started by a command and exits with its client; start `longarm serve --listen unix:PATH` on its machine, and connect to that',
	});
}
