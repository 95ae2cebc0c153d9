import type {ProcessHandle} from '../../client/process/process-handle.js';
import type {ServerDescription} from '../../client/session/connection.js';
import type {RemoteStatus} from '../../client/session/lazy-client.js';
import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import type {EnvironmentBackend} from '../environment-backend.js';
import type {LocalFiles} from './local-files.js';
import type {LocalHttp} from './local-http.js';
import type {LocalPorts} from './local-ports.js';
import {LocalProcesses} from './local-processes.js';

/** This machine, without a wire: its connection is never lost. */
export class LocalBackend implements EnvironmentBackend {
	readonly processes: LocalProcesses;
	readonly #variables: Readonly<Record<string, string | undefined>>;
	#files: Promise<LocalFiles> | undefined;
	#http: Promise<LocalHttp> | undefined;
	#ports: Promise<LocalPorts> | undefined;

	constructor(variables: Readonly<Record<string, string | undefined>>) {
		this.#variables = variables;
		this.processes = new LocalProcesses(variables);
	}

	loadFiles(): Promise<LocalFiles> {
		this.#files ??= import('./local-files.js').then(loaded => new loaded.LocalFiles());
		return this.#files;
	}

	loadHttp(): Promise<LocalHttp> {
		this.#http ??= import('./local-http.js').then(loaded => new loaded.LocalHttp(this.#variables));
		return this.#http;
	}

	loadPorts(): Promise<LocalPorts> {
		this.#ports ??= import('./local-ports.js').then(loaded => new loaded.LocalPorts());
		return this.#ports;
	}

	async server(): Promise<ServerDescription> {
		const info = await this.info();
		return {dialect: 'current', info, capabilities: info.capabilities ?? {}};
	}

	async sessionId(): Promise<undefined> {
		return undefined;
	}

	async attach(processId: string): Promise<ProcessHandle> {
		return this.processes.attach(processId);
	}

	async info(): Promise<EnvironmentInfo> {
		const {describeEnvironment} = await import('../../adapters/environment-info.js');
		return describeEnvironment(this.#variables, {forwardsPorts: true});
	}

	async status(): Promise<RemoteStatus> {
		return {kind: 'ready'};
	}

	onDisconnect(): () => void {
		return () => {};
	}

	async close(): Promise<void> {
		const [http, ports] = await Promise.all([this.#http, this.#ports]);
		http?.[Symbol.dispose]();
		ports?.[Symbol.dispose]();
		await this.processes.close();
	}
}
