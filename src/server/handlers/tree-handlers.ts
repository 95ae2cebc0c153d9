import {toNativePath, toRoot, toUriText} from '../../adapters/file-paths.js';
import {isTransfer, listTree, packTree, setAttributes, unpackTree} from '../../filesystem/archive/index.js';
import {refusedError, withFileErrors} from '../../filesystem/file-errors.js';
import {digest} from '../../filesystem/index.js';
import {DEFAULT_MAX_MATCHES, MAX_SEARCH_MATCHES} from '../../filesystem/search/query.js';
import type {ResultOnWire} from '../../protocol/methods/method-table.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {requireFree} from '../fs-worker/sandbox-routing.js';
import {RelayedDevice} from '../fs-worker/sandboxed-files.js';

export const fileTransferHandlers = {
	'fs/pack': async ({handleId, path, names}, client) => {
		const native = toNativePath(path);
		const {totals} = await client.files.handles.open(handleId, () => packTree(native, {names: names ?? undefined}));
		return {handleId, ...totals};
	},

	'fs/unpack': async ({handleId, path, overwrite, partial, root, sync}, client) => {
		const native = toNativePath(path);
		const options = {
			overwrite: overwrite ?? false,
			partial: partial ?? false,
			sync: sync ?? false,
			root: toRoot(root),
		};
		await client.files.handles.open(handleId, () => unpackTree(native, options));
		return {handleId};
	},

	'fs/list': async ({handleId, path, depth, names, after, root}, client) => {
		const native = toNativePath(path);
		const options = {
			depth: depth ?? undefined,
			names: names ?? undefined,
			after: after ?? undefined,
			root: toRoot(root),
		};
		await client.files.handles.open(handleId, () => listTree(native, options));
		return {handleId};
	},

	'fs/digest': async ({path, offset, length, root}) =>
		digest(toNativePath(path), {offset, length, followSymlinks: true, root: toRoot(root)}),

	'fs/setAttributes': async ({path, entries, root, sync}) => {
		const options = {root: toRoot(root), sync: sync ?? false};
		const errors = await setAttributes(toNativePath(path), entries, options);
		return {errors: errors.map(({path: place, message}) => ({path: toUriText(place), message}))};
	},

	'fs/finish': withFileErrors(async ({handleId, sha256}, client) => {
		const {handles} = client.files;
		const transfer = handles.find(handleId);
		if (transfer instanceof RelayedDevice) {
			const result = await transfer.finish(sha256 ?? undefined);
			await handles.close(handleId);
			return result as ResultOnWire<'fs/finish'>;
		}
		if (!isTransfer(transfer)) throw refusedError(`file handle \`${handleId}\` is not one of a transfer`);
		const outcome = await transfer.finish(sha256 ?? undefined);
		await handles.close(handleId);
		return {...outcome, errors: outcome.errors.map(({path, message}) => ({path: toUriText(path), message}))};
	}),
} satisfies Handlers<ClientConnection>;

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
