import {randomId} from '../../../shared/random-id.js';
import {describePath, toPathUri} from '../../paths.js';
import type {SessionClient} from '../../session/session-client.js';
import {FileError, wrapFileErrors} from '../file-error.js';
import type {Search, SearchOutcome, SearchQuery} from '../files.js';
import {sandboxMember} from '../sandbox-context.js';
import {SearchStream} from '../streams/search-stream.js';
import {ConnectionCalls} from './connection-calls.js';

/** Matches in the queue. The server pushes them: a reader that is too slow loses the search. */
export const MAX_WAITING_MATCHES = 100_000;
/** Outcome of a search that was left before the request was sent. */
const NOT_STARTED: SearchOutcome = {files: 0, matches: 0, truncated: false, cancelled: true, errors: []};

export function remoteSearch(
	connect: () => Promise<SessionClient>,
	query: SearchQuery,
	signal: AbortSignal | undefined,
): Search {
	const searchId = randomId();
	let calls: ConnectionCalls | undefined;
	const stream = new SearchStream(signal, () => calls?.release('fs/searchCancel', {searchId}));
	const run = async (): Promise<SearchOutcome | undefined> => {
		const client = await connect();
		if (stream.isClosed) return undefined;
		calls = new ConnectionCalls(client);
		const stopListening = client.on('fs/searchMatches', ({searchId: id, matches}) => {
			if (id !== searchId) return;
			stream.found(matches);
			if (stream.waiting > MAX_WAITING_MATCHES) stream.fail(readerTooSlow(query));
		});
		try {
			return await calls.call('fs/search', toSearchParams(searchId, query));
		} finally {
			stopListening();
			calls.end();
		}
	};
	wrapFileErrors(query.path, run).then(
		outcome => stream.finish(outcome ?? NOT_STARTED),
		(error: unknown) => stream.fail(error),
	);
	return stream;
}

function toSearchParams(searchId: string, query: SearchQuery) {
	const {path, names = [], exclude = [], contents, hidden = false, ignoreFiles = true, maxMatches} = query;
	return {
		searchId,
		path: toPathUri(path).href,
		names: [...names],
		exclude: [...exclude],
		...(contents && {contents}),
		hidden,
		ignoreFiles,
		...(maxMatches !== undefined && {maxMatches}),
		...sandboxMember(query),
	};
}

function readerTooSlow({path}: SearchQuery): FileError {
	const message = `more than ${MAX_WAITING_MATCHES} matches wait to be taken`;
	return new FileError('ended', message, {path: describePath(path)});
}
