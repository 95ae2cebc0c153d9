import type {Files} from '../../client/files/files.js';
import type {Processes} from '../../client/process/process-handle.js';
import {ProtocolError} from '../../client/session/client-errors.js';
import type {DisconnectListener, LazyClient, RemoteStatus} from '../../client/session/lazy-client.js';
import type {EnvironmentInfo} from '../../protocol/methods/environment-methods.js';
import type {ProcessPlace, ServerDescription} from '../process-place.js';
import {lazyClientFor, mayWarmUp} from './connect.js';
import type {RemoteTarget} from './remote-target.js';

/** The processes of another machine. Begins to connect in the background where that costs nothing but a socket. */
export class RemoteProcessPlace implements ProcessPlace {
	readonly processes: Processes;
	protected readonly lazy: LazyClient;

	constructor(target: RemoteTarget) {
		this.lazy = lazyClientFor(target);
		if (mayWarmUp(target)) this.lazy.warmUp();
		this.processes = {start: async (params, options) => (await this.lazy.client()).start(params, options)};
	}

	async server(): Promise<ServerDescription> {
		const {dialect, info, capabilities} = await this.lazy.client();
		return {dialect, info, capabilities};
	}

	async info(): Promise<EnvironmentInfo> {
		const {info} = await this.lazy.client();
		if (!info) throw new ProtocolError('the server is too old to describe itself');
		return info;
	}

	status(): Promise<RemoteStatus> {
		return this.lazy.status();
	}

	onDisconnect(listener: DisconnectListener): () => void {
		return this.lazy.onDisconnect(listener);
	}

	async loadFiles(): Promise<Files> {
		const {RemoteFiles} = await import('../../client/files/remote/remote-files.js');
		return new RemoteFiles(() => this.lazy.client());
	}

	close(): Promise<void> {
		return this.lazy[Symbol.asyncDispose]();
	}
}
