import type {BytePath} from '../../filesystem/byte-path.js';
import {refusedError} from '../../filesystem/file-errors.js';
import type {TreeWatch, TreeWatchOptions} from '../../filesystem/watch/tree-watch.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {type IdRefusal, IdTable} from '../../shared/id-table.js';
import type {FlowControl} from './flow-control.js';

/** Watches one connection may have. */
export const MAX_WATCHES = 64;
export const MAX_WATCH_ID_BYTES = 64;
/** Changes told in one message. */
const CHANGES_PER_MESSAGE = 1000;

interface Line {
	/** Undefined while it is being set up. */
	watch: TreeWatch | undefined;
	isTelling: boolean;
}

/** The watches of one connection. What they see is told as fast as the client reads, and merged meanwhile. */
export class ClientWatches {
	readonly #connection: RpcConnection;
	readonly #flow: FlowControl;
	readonly #lines = new IdTable<Line>({
		maxEntries: MAX_WATCHES,
		maxIdBytes: MAX_WATCH_ID_BYTES,
		toError: (refusal, id) => refusedError(describeIdRefusal(refusal, id)),
	});

	constructor(connection: RpcConnection, flow: FlowControl) {
		this.#connection = connection;
		this.#flow = flow;
	}

	async begin(id: string, path: BytePath, options: TreeWatchOptions): Promise<void> {
		const line: Line = {watch: undefined, isTelling: false};
		this.#lines.reserve(id, line);
		try {
			// Loaded when it is needed: few clients watch, and all wait for the server to start.
			const {TreeWatch} = await import('../../filesystem/watch/tree-watch.js');
			line.watch = await TreeWatch.begin(path, options, () => void this.#tell(id, line));
		} catch (error) {
			if (this.#lines.get(id) === line) this.#lines.delete(id);
			throw error;
		}
		// Ended before it had begun.
		if (this.#lines.get(id) !== line) line.watch.end();
		// What was seen while it was being set up has had nobody to tell it.
		else void this.#tell(id, line);
	}

	has(id: string): boolean {
		return this.#lines.has(id);
	}

	/** Unknown ids have ended already. */
	end(id: string): void {
		this.#lines.get(id)?.watch?.end();
		this.#lines.delete(id);
	}

	close(): void {
		for (const id of this.#lines.ids()) this.end(id);
	}

	async #tell(id: string, line: Line): Promise<void> {
		if (line.isTelling) return;
		line.isTelling = true;
		for (;;) {
			await this.#flow.whenWritable();
			// Only now, so that what came while the client did not read is told together.
			const news = this.#lines.get(id) === line ? line.watch?.take(CHANGES_PER_MESSAGE) : undefined;
			if (!news) break;
			const {changes, overflow, ended = null} = news;
			this.#connection.notify('fs/changed', {
				watchId: id,
				changes: changes.map(({path, kind}) => ({path: PathUri.fromBinary(path).href, kind})),
				overflow,
				ended,
			});
			if (ended !== null) this.end(id);
		}
		line.isTelling = false;
	}
}

function describeIdRefusal(refusal: IdRefusal, id: string): string {
	switch (refusal) {
		case 'length':
			return `watch ID must not exceed ${MAX_WATCH_ID_BYTES} bytes`;
		case 'taken':
			return `watch \`${id}\` already exists`;
		case 'full':
			return `at most ${MAX_WATCHES} watches may be open per connection`;
	}
}
