import type {BytePath} from '../../filesystem/byte-path.js';
import {refusedError} from '../../filesystem/file-errors.js';
import type {TreeWatch, TreeWatchOptions} from '../../filesystem/watch/tree-watch.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {type IdRefusal, IdTable} from '../../shared/id-table.js';
import type {FlowControl} from './flow-control.js';

/** Open watches of one connection. */
export const MAX_WATCHES = 64;
export const MAX_WATCH_ID_BYTES = 64;
const MAX_CHANGES_PER_MESSAGE = 1000;

interface WatchEntry {
	/** Undefined while the watch is being set up. */
	watch: TreeWatch | undefined;
	/** True if a `#notifyChanges` loop runs for it. */
	isNotifying: boolean;
}

/** Open watches of one connection. Back-pressure: changes are sent as fast as the client reads, merged until then. */
export class ClientWatches {
	readonly #connection: RpcConnection;
	readonly #flow: FlowControl;
	readonly #watches = new IdTable<WatchEntry>({
		maxEntries: MAX_WATCHES,
		maxIdBytes: MAX_WATCH_ID_BYTES,
		toError: (refusal, id) => refusedError(describeIdRefusal(refusal, id)),
	});

	constructor(connection: RpcConnection, flow: FlowControl) {
		this.#connection = connection;
		this.#flow = flow;
	}

	async begin(id: string, path: BytePath, options: TreeWatchOptions): Promise<void> {
		const entry: WatchEntry = {watch: undefined, isNotifying: false};
		this.#watches.reserve(id, entry);
		try {
			// Loaded when it is needed: few clients watch, and all wait for the server to start.
			const {TreeWatch} = await import('../../filesystem/watch/tree-watch.js');
			entry.watch = await TreeWatch.begin(path, options, () => void this.#notifyChanges(id, entry));
		} catch (error) {
			if (this.#watches.get(id) === entry) this.#watches.delete(id);
			throw error;
		}
		// Ended during the set-up.
		if (this.#watches.get(id) !== entry) entry.watch.end();
		// Changes from during the set-up are not notified yet.
		else void this.#notifyChanges(id, entry);
	}

	has(id: string): boolean {
		return this.#watches.has(id);
	}

	/** No-op for unknown ids: the watch may have ended already. */
	end(id: string): void {
		this.#watches.get(id)?.watch?.end();
		this.#watches.delete(id);
	}

	close(): void {
		this.#watches.close();
		for (const id of this.#watches.ids()) this.end(id);
	}

	async #notifyChanges(id: string, entry: WatchEntry): Promise<void> {
		if (entry.isNotifying) return;
		entry.isNotifying = true;
		for (;;) {
			await this.#flow.whenWritable();
			// Taken only now, so that changes from while the client did not read are merged.
			const batch = this.#watches.get(id) === entry ? entry.watch?.take(MAX_CHANGES_PER_MESSAGE) : undefined;
			if (!batch) break;
			const {changes, overflow, ended = null} = batch;
			this.#connection.notify('fs/changed', {
				watchId: id,
				changes: changes.map(({path, kind}) => ({path: PathUri.fromBinary(path).href, kind})),
				overflow,
				ended,
			});
			if (ended !== null) this.end(id);
		}
		entry.isNotifying = false;
	}
}

function describeIdRefusal(refusal: IdRefusal, id: string): string {
	switch (refusal) {
		case 'length':
			return `watch ID must not exceed ${MAX_WATCH_ID_BYTES} bytes`;
		case 'closed':
			return 'the connection is closed';
		case 'taken':
			return `watch \`${id}\` already exists`;
		case 'full':
			return `at most ${MAX_WATCHES} watches may be open per connection`;
	}
}
