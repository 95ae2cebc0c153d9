import {randomId} from '../../../shared/random-id.js';
import {describePath, toPathUri} from '../../paths.js';
import type {SessionClient} from '../../session/session-client.js';
import {about, FileError} from '../file-error.js';
import type {Search, SearchOutcome, SearchQuery} from '../files.js';
import {sandboxMember} from '../sandbox-context.js';
import {SearchStream} from '../streams/search-stream.js';
import {ConnectionCalls} from './connection-calls.js';

/** Matches that may wait to be taken. They are pushed: one who takes fewer than are found loses the search. */
export const MAX_WAITING_MATCHES = 100_000;

export function remoteSearch(
	connect: () => Promise<SessionClient>,
	query: SearchQuery,
	signal: AbortSignal | undefined,
): Search {
	const searchId = randomId();
	let calls: ConnectionCalls | undefined;
	const feed = new SearchStream(signal, () => calls?.release('fs/searchCancel', {searchId}));
	const run = async (): Promise<SearchOutcome | undefined> => {
		const client = await connect();
		if (feed.isOver) return undefined;
		calls = new ConnectionCalls(client);
		const stopListening = client.on('fs/searchMatches', ({searchId: id, matches}) => {
			if (id !== searchId) return;
			feed.found(matches);
			if (feed.waiting > MAX_WAITING_MATCHES) feed.fail(tooSlow(query));
		});
		try {
			return await calls.call('fs/search', paramsOf(searchId, query));
		} finally {
			stopListening();
			calls.end();
		}
	};
	about(query.path, run).then(
		outcome => feed.finish(outcome ?? NOT_BEGUN),
		(error: unknown) => feed.fail(error),
	);
	return feed;
}

/** Of a search that was left before it was asked for. */
const NOT_BEGUN: SearchOutcome = {files: 0, matches: 0, truncated: false, cancelled: true, errors: []};

function paramsOf(searchId: string, query: SearchQuery) {
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

function tooSlow({path}: SearchQuery): FileError {
	const message = `more than ${MAX_WAITING_MATCHES} matches wait to be taken`;
	return new FileError('ended', message, {path: describePath(path)});
}
