import {FileHandles} from '../../filesystem/file-handles.js';
import {type MissingRequest, MissingWatch} from '../../filesystem/watch/missing-watch.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {type CreateTwins, SandboxedFiles} from '../fs-worker/sandboxed-files.js';
import {ClientSearches} from './client-searches.js';
import {ClientWatches} from './client-watches.js';
import type {Room} from './flow-control.js';

/** What one connection has open in the file system; it ends with the connection. */
export class ClientFiles {
	readonly handles = new FileHandles();
	readonly watches: ClientWatches;
	readonly searches: ClientSearches;
	/** What it has open behind a sandbox. */
	readonly sandboxed: SandboxedFiles;
	readonly #connection: RpcConnection;
	#lastWatchId = -1;
	#missingWatch: MissingWatch | undefined;
	#closed = false;

	constructor(connection: RpcConnection, room: Room, createTwins: CreateTwins) {
		this.#connection = connection;
		this.watches = new ClientWatches(connection, room);
		this.searches = new ClientSearches(connection, room);
		this.sandboxed = new SandboxedFiles(connection, room, createTwins);
	}

	/** Replaces the watch before, if the new one can be had. Ids only ever grow. */
	async watchMissing(watchId: number, request: MissingRequest): Promise<boolean> {
		if (watchId <= this.#lastWatchId) return false;
		this.#lastWatchId = watchId;
		const watch = await MissingWatch.begin(request, () => this.#connection.notify('fs/missingChanged', {watchId}));
		// A later call, or the end of the connection, may have overtaken this one.
		if (!watch || this.#closed || watchId !== this.#lastWatchId) {
			watch?.end();
			return false;
		}
		this.#missingWatch?.end();
		this.#missingWatch = watch;
		return true;
	}

	close(): void {
		this.#closed = true;
		this.handles.closeAll();
		this.watches.close();
		this.searches.close();
		this.sandboxed.close();
		this.#missingWatch?.end();
	}
}
