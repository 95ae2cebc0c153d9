import {percentEncode} from '../../../protocol/path-uri/path-uri-encoding.js';
import type {SessionClient} from '../../session/session-client.js';
import {wrapFileErrors} from '../file-error.js';
import type {ListOptions, PackedTree, PackOptions, SandboxContext, UnpackedTree, UnpackOptions} from '../files.js';
import type {BlockSource} from '../streams/block-reader.js';
import type {BlockTarget} from '../streams/block-writer.js';
import {readPackedTree, writePackedTree} from '../streams/tree-streams.js';
import {RemoteHandle} from './remote-handle.js';

/** Path members of a request; errors name the path as the caller has given it. */
export interface RemoteFile {
	readonly path: string;
	readonly followSymlinks?: false;
	readonly root?: string;
	readonly sandbox?: SandboxContext;
}

/** Runs an operation that changes files. */
export type Changing = <T>(change: () => Promise<T>) => Promise<T>;

export async function openRemoteRead(client: SessionClient, given: string, target: RemoteFile): Promise<BlockSource> {
	const {handle} = await RemoteHandle.open(client, (calls, handleId) => calls.call('fs/open', {handleId, ...target}));
	return {
		read: (offset, length) => wrapFileErrors(given, () => handle.read(offset, length)),
		// Everything was read: a failure to close the handle does not matter.
		end: async () => handle.abandon(),
		abandon: () => handle.abandon(),
	};
}

/** Opens a file that is truncated (`replace`) or not (`update`). */
export async function openRemoteWrite(
	client: SessionClient,
	given: string,
	target: RemoteFile & {readonly owned?: boolean},
	mode: 'replace' | 'update',
	changing: Changing,
): Promise<BlockTarget> {
	const {handle} = await changing(() =>
		RemoteHandle.open(client, (calls, handleId) => calls.call('fs/open', {handleId, ...target, mode})),
	);
	return {
		write: async (offset, chunk) => {
			await changing(() => wrapFileErrors(given, () => handle.write(offset, chunk)));
		},
		end: () => changing(() => wrapFileErrors(given, () => handle.close())),
		abandon: () => handle.abandon(),
	};
}

export async function openRemoteList(
	client: SessionClient,
	given: string,
	target: RemoteFile,
	options: ListOptions,
): Promise<BlockSource> {
	const {depth, after} = options;
	const params = {
		...target,
		...(depth !== undefined && {depth}),
		...namesMember(options),
		...(after !== undefined && {after: percentEncode(after)}),
	};
	const {handle} = await RemoteHandle.open(client, (calls, handleId) => calls.call('fs/list', {handleId, ...params}));
	return {
		read: (offset, length) => wrapFileErrors(given, () => handle.read(offset, length)),
		end: async () => handle.abandon(),
		abandon: () => handle.abandon(),
	};
}

function namesMember({names}: Pick<ListOptions, 'names'>): {names?: string[]} {
	return names ? {names: names.map(percentEncode)} : {};
}

export async function packRemote(
	client: SessionClient,
	given: string,
	target: RemoteFile,
	options: PackOptions,
): Promise<PackedTree> {
	options.signal?.throwIfAborted();
	const {handle, opened} = await RemoteHandle.open(client, (calls, handleId) =>
		calls.call('fs/pack', {handleId, ...target, ...namesMember(options)}),
	);
	const {entries, bytes} = opened;
	return readPackedTree(given, {entries, bytes}, handle, options);
}

export async function unpackRemote(
	client: SessionClient,
	given: string,
	target: RemoteFile & {readonly sync?: true},
	options: UnpackOptions,
	changing: Changing,
): Promise<UnpackedTree> {
	options.signal?.throwIfAborted();
	const {overwrite = false, partial = false} = options;
	const params = {...target, overwrite, ...(partial && {partial})};
	const {handle} = await changing(() =>
		RemoteHandle.open(client, (calls, handleId) => calls.call('fs/unpack', {handleId, ...params})),
	);
	const tree = {
		write: async (offset: number, chunk: Uint8Array) => (await changing(() => handle.write(offset, chunk))).progress,
		finish: (sha256: string | undefined) => changing(() => handle.finish(sha256)),
		abandon: () => handle.abandon(),
	};
	return writePackedTree(given, tree, options);
}
