import {FileHandles} from '../../filesystem/file-handles.js';
import {MissingPathsWatch, type MissingRequest} from '../../filesystem/watch/missing-watch.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import type {FsWorkerPoolOptions} from '../fs-worker/fs-worker-pool.js';
import {SandboxedFiles} from '../fs-worker/sandboxed-files.js';
import {ClientSearches} from './client-searches.js';
import {ClientWatches} from './client-watches.js';
import type {FlowControl} from './flow-control.js';

/** What one connection has open in the file system; it ends with the connection. */
export class ClientFiles {
	readonly handles = new FileHandles();
	readonly watches: ClientWatches;
	readonly searches: ClientSearches;
	/** What it has open behind a sandbox. */
	readonly sandboxed: SandboxedFiles;
	readonly #connection: RpcConnection;
	#lastWatchId = -1;
	#missingWatch: MissingPathsWatch | undefined;
	#isClosed = false;

	constructor(connection: RpcConnection, flow: FlowControl, launch: FsWorkerPoolOptions['launch']) {
		this.#connection = connection;
		this.watches = new ClientWatches(connection, flow);
		this.searches = new ClientSearches(connection, flow);
		this.sandboxed = new SandboxedFiles(connection, flow, launch);
	}

	/** Replaces the watch before, if the new one can be had. Ids only ever grow. */
	async watchMissing(watchId: number, request: MissingRequest): Promise<boolean> {
		if (watchId <= this.#lastWatchId) return false;
		this.#lastWatchId = watchId;
		const watch = await MissingPathsWatch.begin(request, () => this.#connection.notify('fs/missingChanged', {watchId}));
		// A later call, or the end of the connection, may have overtaken this one.
		if (!watch || this.#isClosed || watchId !== this.#lastWatchId) {
			watch?.end();
			return false;
		}
		this.#missingWatch?.end();
		this.#missingWatch = watch;
		return true;
	}

	close(): void {
		this.#isClosed = true;
		this.handles.closeAll();
		this.watches.close();
		this.searches.close();
		this.sandboxed.close();
		this.#missingWatch?.end();
	}
}
