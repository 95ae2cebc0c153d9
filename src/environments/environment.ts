import {ProtocolError} from '../client/errors.js';
import type {DisconnectListener, LazyClient, RemoteStatus} from '../client/lazy-client.js';
import type {Processes} from '../client/process-handle.js';
import type {SessionClient} from '../client/session-client.js';
import type {EnvironmentInfo} from '../protocol/environment.js';
import {describeEnvironment} from '../server/environment-info.js';
import {lazyClientFor, mayWarmUp} from './connect.js';
import {LocalProcesses} from './local/local-processes.js';
import type {RemoteTarget} from './target.js';

/** What makes up a place, wherever it is. */
interface Place {
	readonly processes: Processes;
	info(): Promise<EnvironmentInfo>;
	status(): Promise<RemoteStatus>;
	onDisconnect(listener: DisconnectListener): () => void;
	close(): Promise<void>;
}

/** Processes, files and HTTP of one machine: this one, without any wire, or another, connected when it is needed. */
export class Environment implements AsyncDisposable {
	readonly id: string;
	readonly kind: 'local' | 'remote';
	readonly processes: Processes;
	readonly #place: Place;

	/** This machine. */
	static local(id = 'local', variables: Readonly<Record<string, string | undefined>> = process.env): Environment {
		return new Environment(id, 'local', new LocalPlace(variables));
	}

	/** Another machine. Begins to connect in the background where that costs nothing but a socket. */
	static remote(id: string, target: RemoteTarget): Environment {
		const client = lazyClientFor(target);
		if (mayWarmUp(target)) client.warmUp();
		return new Environment(id, 'remote', new RemotePlace(client));
	}

	private constructor(id: string, kind: 'local' | 'remote', place: Place) {
		this.id = id;
		this.kind = kind;
		this.#place = place;
		this.processes = place.processes;
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

class LocalPlace implements Place {
	readonly processes: LocalProcesses;
	readonly #variables: Readonly<Record<string, string | undefined>>;

	constructor(variables: Readonly<Record<string, string | undefined>>) {
		this.#variables = variables;
		this.processes = new LocalProcesses(variables);
	}

	async info(): Promise<EnvironmentInfo> {
		return describeEnvironment(this.#variables);
	}

	async status(): Promise<RemoteStatus> {
		return {kind: 'ready'};
	}

	onDisconnect(): () => void {
		return () => {};
	}

	close(): Promise<void> {
		return this.processes.close();
	}
}

class RemotePlace implements Place {
	readonly processes: Processes;
	readonly #lazy: LazyClient;

	constructor(lazy: LazyClient) {
		this.#lazy = lazy;
		const client = (): Promise<SessionClient> => lazy.client();
		this.processes = {start: async (params, options) => (await client()).start(params, options)};
	}

	async info(): Promise<EnvironmentInfo> {
		const {info} = await this.#lazy.client();
		if (!info) throw new ProtocolError('the server is too old to describe itself');
		return info;
	}

	status(): Promise<RemoteStatus> {
		return this.#lazy.status();
	}

	onDisconnect(listener: DisconnectListener): () => void {
		return this.#lazy.onDisconnect(listener);
	}

	close(): Promise<void> {
		return this.#lazy[Symbol.asyncDispose]();
	}
}
