import {refused, toFileError} from '../../filesystem/file-errors.js';
import type {SearchQuery} from '../../filesystem/search/query.js';
import type {Search, SearchOutcome} from '../../filesystem/search/search.js';
import type {Match} from '../../filesystem/search/search-messages.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import type {Room} from './flow-control.js';

/** Searches one connection may have under way. */
export const MAX_SEARCHES = 16;
export const MAX_SEARCH_ID_BYTES = 64;

/** The searches of one connection; what they find is told as fast as the client reads. */
export class ClientSearches {
	readonly #connection: RpcConnection;
	readonly #room: Room;
	/** Undefined while it is being set up. */
	readonly #searches = new Map<string, Search | undefined>();
	#closed = false;

	constructor(connection: RpcConnection, room: Room) {
		this.#connection = connection;
		this.#room = room;
	}

	async run(id: string, query: SearchQuery): Promise<SearchOutcome> {
		this.#requireFree(id);
		this.#searches.set(id, undefined);
		try {
			const {Search} = await import('../../filesystem/search/search.js');
			const search = await Search.begin(query, matches => this.#tell(id, matches));
			// Given up before it had begun.
			if (this.#closed || !this.#searches.has(id)) search.cancel();
			else this.#searches.set(id, search);
			return await search.outcome;
		} catch (error) {
			throw toFileError(error);
		} finally {
			this.#searches.delete(id);
		}
	}

	has(id: string): boolean {
		return this.#searches.has(id);
	}

	/** Unknown ids are over already. */
	cancel(id: string): void {
		this.#searches.get(id)?.cancel();
		this.#searches.delete(id);
	}

	close(): void {
		this.#closed = true;
		for (const id of this.#searches.keys()) this.cancel(id);
	}

	async #tell(id: string, matches: readonly Match[]): Promise<void> {
		await this.#room.opened();
		if (this.#searches.has(id)) {
			this.#connection.notify('fs/searchMatches', {searchId: id, matches: matches.map(describe)});
		}
	}

	#requireFree(id: string): void {
		if (Buffer.byteLength(id) > MAX_SEARCH_ID_BYTES) {
			throw refused(`search ID must not exceed ${MAX_SEARCH_ID_BYTES} bytes`);
		}
		if (this.#searches.has(id)) throw refused(`search \`${id}\` already exists`);
		if (this.#searches.size >= MAX_SEARCHES) {
			throw refused(`at most ${MAX_SEARCHES} searches may be under way per connection`);
		}
	}
}

function describe(match: Match): Record<string, unknown> {
	const path = PathUri.fromBinary(match.path).href;
	if (match.kind === 'entry') return {path, kind: match.isDirectory ? 'directory' : 'file'};
	return {path, kind: 'file', ...match.match};
}
