import {refusedError, toDomainFileError} from '../../filesystem/file-errors.js';
import type {SearchRequest} from '../../filesystem/search/query.js';
import type {SearchRun, SearchRunOutcome} from '../../filesystem/search/search.js';
import type {SearchMatch} from '../../filesystem/search/search-messages.js';
import type {SearchOwner} from '../../filesystem/search/search-queue.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import type {RpcConnection} from '../../rpc/rpc-connection.js';
import {type IdRefusal, IdTable} from '../../shared/id-table.js';
import type {FlowControl} from './flow-control.js';

/** Concurrent searches of one connection. */
export const MAX_SEARCHES = 16;
export const MAX_SEARCH_ID_BYTES = 64;

/** Running searches of one connection. Back-pressure: matches are sent as fast as the client reads. */
export class ClientSearches {
	readonly #connection: RpcConnection;
	readonly #flow: FlowControl;
	readonly #owner: SearchOwner;
	readonly #searches = new IdTable<SearchRun>({
		maxEntries: MAX_SEARCHES,
		maxIdBytes: MAX_SEARCH_ID_BYTES,
		toError: (refusal, id) => refusedError(describeIdRefusal(refusal, id)),
	});

	/** `account` is that of the token, if there is one: its connections share their threads. */
	constructor(connection: RpcConnection, flow: FlowControl, account: string | undefined) {
		this.#connection = connection;
		this.#flow = flow;
		this.#owner = {account: account ?? this, connection: this};
	}

	async run(id: string, query: SearchRequest): Promise<SearchRunOutcome> {
		this.#searches.reserve(id);
		try {
			const {SearchRun} = await import('../../filesystem/search/search.js');
			const search = await SearchRun.begin(query, matches => this.#notifyMatches(id, matches), this.#owner);
			// Cancelled during the set-up.
			if (!this.#searches.has(id)) search.cancel();
			else this.#searches.set(id, search);
			return await search.outcome;
		} catch (error) {
			throw toDomainFileError(error);
		} finally {
			this.#searches.delete(id);
		}
	}

	has(id: string): boolean {
		return this.#searches.has(id);
	}

	/** No-op for unknown ids: the search may have finished already. */
	cancel(id: string): void {
		this.#searches.get(id)?.cancel();
		this.#searches.delete(id);
	}

	close(): void {
		this.#searches.close();
		for (const id of this.#searches.ids()) this.cancel(id);
	}

	async #notifyMatches(id: string, matches: readonly SearchMatch[]): Promise<void> {
		await this.#flow.whenWritable();
		if (this.#searches.has(id)) {
			this.#connection.notify('fs/searchMatches', {searchId: id, matches: matches.map(toWireMatch)});
		}
	}
}

function describeIdRefusal(refusal: IdRefusal, id: string): string {
	switch (refusal) {
		case 'length':
			return `search ID must not exceed ${MAX_SEARCH_ID_BYTES} bytes`;
		case 'closed':
			return 'the connection is closed';
		case 'taken':
			return `search \`${id}\` already exists`;
		case 'full':
			return `at most ${MAX_SEARCHES} searches may be under way per connection`;
	}
}

function toWireMatch(match: SearchMatch): Record<string, unknown> {
	const path = PathUri.fromBinary(match.path).href;
	if (match.kind === 'entry') return {path, kind: match.isDirectory ? 'directory' : 'file'};
	return {path, kind: 'file', ...match.match};
}
