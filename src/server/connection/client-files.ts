import {FileHandles} from '../../filesystem/file-handles.js';
import {MissingPathsWatch, type MissingRequest} from '../../filesystem/watch/missing-watch.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import type {FsWorkerPoolOptions} from '../fs-worker/fs-worker-pool.js';
import {SandboxedFiles} from '../fs-worker/sandboxed-files.js';
import {ClientSearches} from './client-searches.js';
import {ClientWatches} from './client-watches.js';
import type {FlowControl} from './flow-control.js';

/** Open file handles, watches and searches of one connection; closed with it. */
export class ClientFiles {
	readonly handles = new FileHandles();
	readonly watches: ClientWatches;
	readonly searches: ClientSearches;
	/** The same for operations that run in a sandboxed worker. */
	readonly sandboxed: SandboxedFiles;
	readonly #connection: RpcConnection;
	#lastWatchId = -1;
	#missingWatch: MissingPathsWatch | undefined;
	#isClosed = false;

	constructor(
		connection: RpcConnection,
		flow: FlowControl,
		launch: FsWorkerPoolOptions['launch'],
		account: string | undefined,
	) {
		this.#connection = connection;
		this.watches = new ClientWatches(connection, flow);
		this.searches = new ClientSearches(connection, flow, account);
		this.sandboxed = new SandboxedFiles(connection, flow, launch);
	}

	/** Replaces the previous watch if the new one can be set up. Ids only ever grow. */
	async watchMissing(watchId: number, request: MissingRequest): Promise<boolean> {
		if (watchId <= this.#lastWatchId) return false;
		this.#lastWatchId = watchId;
		const watch = await MissingPathsWatch.begin(request, () => this.#connection.notify('fs/missingChanged', {watchId}));
		// Stale: a later call, or the close of the connection, came during the await.
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
