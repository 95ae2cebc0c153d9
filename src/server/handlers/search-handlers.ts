import {toNativePath, toUriText} from '../../adapters/file-paths.js';
import {DEFAULT_MAX_MATCHES, MAX_SEARCH_MATCHES} from '../../filesystem/search/query.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {requireFree} from '../fs-worker/sandbox-routing.js';

export const fileSearchHandlers = {
	'fs/search': async (params, client) => {
		const {contents, searchId} = params;
		requireFree('search', searchId, client.files.sandboxed.hasSearch(searchId));
		const {errors, ...outcome} = await client.files.searches.run(searchId, {
			root: toNativePath(params.path),
			names: params.names ?? [],
			exclude: params.exclude ?? [],
			contents: contents
				? {pattern: contents.pattern, regex: contents.regex ?? false, ignoreCase: contents.ignoreCase ?? false}
				: undefined,
			hidden: params.hidden ?? false,
			ignoreFiles: params.ignoreFiles ?? true,
			maxMatches: Math.min(params.maxMatches ?? DEFAULT_MAX_MATCHES, MAX_SEARCH_MATCHES),
		});
		return {...outcome, errors: errors.map(({path, message}) => ({path: toUriText(path), message}))};
	},

	'fs/searchCancel': async ({searchId}, client) => {
		client.files.searches.cancel(searchId);
		await client.files.sandboxed.cancelSearch(searchId);
		return {};
	},
} satisfies Handlers<ClientConnection>;
