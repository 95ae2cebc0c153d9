import {toNativePath} from '../../adapters/file-paths.js';
import {withFileErrors} from '../../filesystem/file-errors.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {requireFree} from '../fs-worker/sandbox-routing.js';

export const fileWatchHandlers = {
	'fs/watchMissing': async ({watchId, missing, present}, client) => {
		const request = {missing: missing.map(toNativePath), present: present ? toNativePath(present) : undefined};
		return {watching: await client.files.watchMissing(watchId, request)};
	},

	'fs/watch': withFileErrors(async ({watchId, path, recursive, ignore}, client) => {
		requireFree('watch', watchId, client.files.sandboxed.hasWatch(watchId));
		const options = {recursive: recursive ?? true, ignore: ignore ?? []};
		await client.files.watches.begin(watchId, toNativePath(path), options);
		return {};
	}),

	'fs/unwatch': async ({watchId}, client) => {
		client.files.watches.end(watchId);
		await client.files.sandboxed.unwatch(watchId);
		return {};
	},
} satisfies Handlers<ClientConnection>;
