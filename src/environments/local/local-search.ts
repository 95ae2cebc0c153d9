import {toUriText} from '../../adapters/file-paths.js';
import {wrapFileErrors} from '../../client/files/file-error.js';
import type {Search, SearchOutcome, SearchQuery} from '../../client/files/files.js';
import {type FoundMatch, SearchStream} from '../../client/files/streams/search-stream.js';
import type {BytePath} from '../../filesystem/byte-path.js';
import {withFileErrors} from '../../filesystem/file-errors.js';
import {DEFAULT_MAX_MATCHES, MAX_SEARCH_MATCHES} from '../../filesystem/search/query.js';
import type {SearchMatch as Found} from '../../filesystem/search/search-messages.js';

/** A search of this machine, as slow as the reader of its matches. */
export function localSearch(query: SearchQuery, root: () => BytePath, signal: AbortSignal | undefined): Search {
	let cancel: (() => void) | undefined;
	const feed = new SearchStream(signal, () => cancel?.());
	const run = withFileErrors(async (): Promise<SearchOutcome> => {
		const {SearchRun: Running} = await import('../../filesystem/search/search.js');
		const {names = [], exclude = [], contents, hidden = false, ignoreFiles = true, maxMatches} = query;
		const running = await Running.begin(
			{
				root: root(),
				names,
				exclude,
				contents: contents && {regex: false, ignoreCase: false, ...contents},
				hidden,
				ignoreFiles,
				maxMatches: Math.min(maxMatches ?? DEFAULT_MAX_MATCHES, MAX_SEARCH_MATCHES),
			},
			async matches => {
				feed.found(matches.map(describe));
				await feed.taken();
			},
			// One owner for all: this program shares with itself.
			{account: localSearch, connection: localSearch},
		);
		cancel = () => running.cancel();
		if (feed.isClosed) cancel();
		const {errors, ...outcome} = await running.outcome;
		return {...outcome, errors: errors.map(({path, message}) => ({path: toUriText(path), message}))};
	});
	wrapFileErrors(query.path, run).then(
		outcome => feed.finish(outcome),
		(error: unknown) => feed.fail(error),
	);
	return feed;
}

function describe(match: Found): FoundMatch {
	const path = toUriText(match.path);
	if (match.kind === 'entry') return {path, kind: match.isDirectory ? 'directory' : 'file'};
	return {path, kind: 'file', ...match.match};
}
