import type {Files} from '../client/files/files.js';
import {RemoteFiles} from '../client/files/remote/remote-files.js';
import type {Http} from '../client/http/http.js';
import {RemoteHttp} from '../client/http/remote-http.js';
import type {PortConnection} from '../client/ports/port-connection.js';
import type {Ports, PortTarget} from '../client/ports/ports.js';
import {RemotePorts} from '../client/ports/remote-ports.js';
import type {Processes, ProcessHandle, StartOptions} from '../client/process/process-handle.js';
import {type RunCommandOptions, toStartParams} from '../client/run/command.js';
import {type Communicated, type CommunicateOptions, communicate} from '../client/run/communicate.js';
import {type RunOptions, type RunResult, run} from '../client/run/run.js';
import {type WaitCondition, type WaitOptions, type WaitResult, waitFor} from '../client/run/wait-for.js';
import type {DisconnectListener, RemoteStatus} from '../client/session/lazy-client.js';
import type {SessionClient} from '../client/session/session-client.js';
import type {EnvironmentInfo} from '../protocol/methods/environment-methods.js';
import {LocalFiles} from './local/local-files.js';
import type {LocalHttp} from './local/local-http.js';
import {LocalPorts} from './local/local-ports.js';
import {LocalProcessPlace} from './local/local-process-place.js';
import type {ProcessPlace, ServerDescription} from './process-place.js';
import {RemoteProcessPlace} from './remote/remote-process-place.js';
import type {RemoteTarget} from './remote/remote-target.js';

export interface StartCommandOptions extends RunCommandOptions, StartOptions {}

/** What makes up a place, wherever it is. */
interface Place extends ProcessPlace {
	readonly files: Files;
	readonly http: Http;
	readonly ports: Ports;
}

/** Processes, files and HTTP of one machine: this one, without any wire, or another, connected when it is needed. */
export class Environment implements AsyncDisposable {
	readonly id: string;
	readonly kind: 'local' | 'remote';
	readonly processes: Processes;
	readonly files: Files;
	/** A request from the machine's place in the network; may be passed on by itself. */
	readonly fetch: Http['fetch'];
	readonly #place: Place;

	/** This machine. */
	static local(id = 'local', variables: Readonly<Record<string, string | undefined>> = process.env): Environment {
		return new Environment(id, 'local', new LocalPlace(variables));
	}

	/** Another machine. Begins to connect in the background where that costs nothing but a socket. */
	static remote(id: string, target: RemoteTarget): Environment {
		return new Environment(id, 'remote', new RemotePlace(target));
	}

	private constructor(id: string, kind: 'local' | 'remote', place: Place) {
		this.id = id;
		this.kind = kind;
		this.#place = place;
		this.processes = place.processes;
		this.files = place.files;
		this.fetch = (input, init) => place.http.fetch(input, init);
	}

	/** Starts a command, with what people expect where nothing is said: this machine's variables and directory. */
	async start(argv: readonly string[], options: StartCommandOptions = {}): Promise<ProcessHandle> {
		const {signal, holdsBack, ...command} = options;
		const params = await toStartParams(this, argv, command);
		return (await this.processes.start(params, {signal, holdsBack})).process;
	}

	/** Runs a command to its end. */
	run(argv: readonly string[], options?: RunOptions): Promise<RunResult> {
		return run(this, argv, options);
	}

	/** Writes the input and collects the output of a process until both are over. */
	communicate(process: ProcessHandle, options?: CommunicateOptions): Promise<Communicated> {
		return communicate(process, options);
	}

	/** Waits for something a process of this machine does. */
	waitFor(process: ProcessHandle, condition: WaitCondition, options?: WaitOptions): Promise<WaitResult> {
		return waitFor(process, condition, {files: this.files, ...options});
	}

	/** Connects to a TCP port as the machine sees it, one of its own loopback addresses say. */
	connect(target: PortTarget): Promise<PortConnection> {
		return this.#place.ports.connect(target);
	}

	/** Who answers for the machine. Connects for it. */
	server(): Promise<ServerDescription> {
		return this.#place.server();
	}

	/** What the machine says of itself. */
	info(): Promise<EnvironmentInfo> {
		return this.#place.info();
	}

	/** Whether it is there, as far as that is known without connecting. */
	status(): Promise<RemoteStatus> {
		return this.#place.status();
	}

	/** Hears of every lost connection, until the returned function is called; this machine is never lost. */
	onDisconnect(listener: DisconnectListener): () => void {
		return this.#place.onDisconnect(listener);
	}

	/** Ends what runs here, or the connection; a remote server decides what becomes of its processes. */
	close(): Promise<void> {
		return this.#place.close();
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}
}

class LocalPlace extends LocalProcessPlace implements Place {
	readonly files = new LocalFiles();
	readonly http: Http = {fetch: async (input, init) => (await this.#loadHttp()).fetch(input, init)};
	readonly ports = new LocalPorts();
	readonly #variables: Readonly<Record<string, string | undefined>>;
	/** Loaded when it is first needed: most programs never do. */
	#http: Promise<LocalHttp> | undefined;

	constructor(variables: Readonly<Record<string, string | undefined>>) {
		super(variables);
		this.#variables = variables;
	}

	override async close(): Promise<void> {
		const http = await this.#http;
		http?.[Symbol.dispose]();
		this.ports[Symbol.dispose]();
		await super.close();
	}

	#loadHttp(): Promise<LocalHttp> {
		this.#http ??= import('./local/local-http.js').then(loaded => new loaded.LocalHttp(this.#variables));
		return this.#http;
	}
}

class RemotePlace extends RemoteProcessPlace implements Place {
	readonly files: Files;
	readonly http: Http;
	readonly ports: Ports;

	constructor(target: RemoteTarget) {
		super(target);
		const client = (): Promise<SessionClient> => this.lazy.client();
		this.files = new RemoteFiles(client);
		this.http = new RemoteHttp(client);
		this.ports = new RemotePorts(client);
	}
}
