import type {SessionClient} from '../session-client.js';
import type {BlockSource} from './block-reader.js';
import type {BlockTarget} from './block-writer.js';
import {about} from './file-error.js';
import type {PackedTree, SandboxContext, TreeStreamOptions, UnpackedTree, UnpackOptions} from './files.js';
import {RemoteHandle} from './remote-handle.js';
import {packedTree, unpackedTree} from './tree-streams.js';

/** The members of a request that say what it is about. */
export interface Target {
	readonly path: string;
	readonly followSymlinks?: false;
	readonly sandbox?: SandboxContext;
}

/** Does something that changes files. */
export type Changing = <T>(change: () => Promise<T>) => Promise<T>;

export async function openToRead(client: SessionClient, target: Target): Promise<BlockSource> {
	const {handle} = await RemoteHandle.open(client, (calls, handleId) => calls.call('fs/open', {handleId, ...target}));
	return {
		read: (offset, length) => about(target.path, () => handle.read(offset, length)),
		// Everything was read: whether the handle could be closed concerns nobody.
		end: async () => handle.abandon(),
		abandon: () => handle.abandon(),
	};
}

export async function openToReplace(client: SessionClient, target: Target, changing: Changing): Promise<BlockTarget> {
	const {handle} = await changing(() =>
		RemoteHandle.open(client, (calls, handleId) => calls.call('fs/open', {handleId, ...target, mode: 'replace'})),
	);
	return {
		write: async (offset, chunk) => {
			await changing(() => about(target.path, () => handle.write(offset, chunk)));
		},
		end: () => changing(() => about(target.path, () => handle.close())),
		abandon: () => handle.abandon(),
	};
}

export async function packRemote(
	client: SessionClient,
	target: Target,
	options: TreeStreamOptions,
): Promise<PackedTree> {
	options.signal?.throwIfAborted();
	const {handle, opened} = await RemoteHandle.open(client, (calls, handleId) =>
		calls.call('fs/pack', {handleId, ...target}),
	);
	const {entries, bytes} = opened;
	return packedTree(target.path, {entries, bytes}, handle, options);
}

export async function unpackRemote(
	client: SessionClient,
	target: Target,
	options: UnpackOptions,
	changing: Changing,
): Promise<UnpackedTree> {
	options.signal?.throwIfAborted();
	const {overwrite = false} = options;
	const {handle} = await changing(() =>
		RemoteHandle.open(client, (calls, handleId) => calls.call('fs/unpack', {handleId, ...target, overwrite})),
	);
	const tree = {
		write: async (offset: number, chunk: Uint8Array) => (await changing(() => handle.write(offset, chunk))).progress,
		finish: (sha256: string | undefined) => changing(() => handle.finish(sha256)),
		abandon: () => handle.abandon(),
	};
	return unpackedTree(target.path, tree, options);
}
