import {MOST_MATCHES, USUAL_MATCHES} from '../../filesystem/search/query.js';
import type {Handlers} from '../../rpc/router.js';
import type {ClientConnection} from '../client-connection.js';
import {nativePath, refuseSandbox, uriOf} from './file-paths.js';

export const fileSearchHandlers = {
	'fs/search': async (params, client) => {
		refuseSandbox(params.sandbox);
		const {contents} = params;
		const {errors, ...outcome} = await client.files.searches.run(params.searchId, {
			root: nativePath(params.path),
			names: params.names ?? [],
			exclude: params.exclude ?? [],
			contents: contents
				? {pattern: contents.pattern, regex: contents.regex ?? false, ignoreCase: contents.ignoreCase ?? false}
				: undefined,
			hidden: params.hidden ?? false,
			ignoreFiles: params.ignoreFiles ?? true,
			maxMatches: Math.min(params.maxMatches ?? USUAL_MATCHES, MOST_MATCHES),
		});
		return {...outcome, errors: errors.map(({path, message}) => ({path: uriOf(path), message}))};
	},

	'fs/searchCancel': ({searchId}, client) => {
		client.files.searches.cancel(searchId);
		return {};
	},
} satisfies Handlers<ClientConnection>;
