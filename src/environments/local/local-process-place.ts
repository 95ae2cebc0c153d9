import type {Files} from '../../client/files/files.js';
import type {RemoteStatus} from '../../client/session/lazy-client.js';
import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import type {ProcessPlace, ServerDescription} from '../process-place.js';
import {LocalProcesses} from './local-processes.js';

/** The processes of this machine, which is never lost. */
export class LocalProcessPlace implements ProcessPlace {
	readonly processes: LocalProcesses;
	readonly #variables: Readonly<Record<string, string | undefined>>;

	constructor(variables: Readonly<Record<string, string | undefined>>) {
		this.#variables = variables;
		this.processes = new LocalProcesses(variables);
	}

	async server(): Promise<ServerDescription> {
		const info = await this.info();
		return {dialect: 'current', info, capabilities: info.capabilities ?? {}};
	}

	async info(): Promise<EnvironmentInfo> {
		const {describeEnvironment} = await import('../../adapters/environment-info.js');
		return describeEnvironment(this.#variables, 'any');
	}

	async status(): Promise<RemoteStatus> {
		return {kind: 'ready'};
	}

	onDisconnect(): () => void {
		return () => {};
	}

	async loadFiles(): Promise<Files> {
		const {LocalFiles} = await import('./local-files.js');
		return new LocalFiles();
	}

	close(): Promise<void> {
		return this.processes.close();
	}
}
