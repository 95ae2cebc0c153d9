import type {Handlers} from '../../rpc/router.js';
import type {ClientConnection} from '../client-connection.js';
import {nativePath} from './file-paths.js';

export const fileWatchHandlers = {
	'fs/watchMissing': async ({watchId, missing, present}, client) => {
		const request = {missing: missing.map(nativePath), present: present ? nativePath(present) : undefined};
		return {watching: await client.files.watchMissing(watchId, request)};
	},
} satisfies Handlers<ClientConnection>;
