import {DirectoryChain} from './archive/directory-chain.js';
import {type BytePath, joinPath} from './byte-path.js';
import {isErrno, refusedError} from './file-errors.js';
import {type UseEntry, withoutFollowingLinks} from './no-follow.js';
import type {FileCalls} from './syscalls.js';

export interface LinkOptions {
	/** False: no component of the path may be a link. */
	readonly followSymlinks: boolean;
	/** Directory above the path: links are followed up to it, and none below it. */
	readonly root?: BytePath | undefined;
}

export function followsLinks({followSymlinks, root}: LinkOptions): boolean {
	return followSymlinks && root === undefined;
}

/** Descends without following links, below the root if there is one, and calls `use` with the last component. */
export async function withEntryBelow<T>(
	calls: FileCalls,
	path: BytePath,
	root: BytePath | undefined,
	use: UseEntry<T>,
): Promise<T> {
	if (root === undefined) return withoutFollowingLinks(calls, path, use);
	return withChainBelow(calls, path, root, async (chain, names, own) => {
		await chain.goTo(names);
		return () => use(joinPath(chain.path, own));
	});
}

/** Creates a directory below a root, and with `recursive` its parents, without following links. */
export async function createBelowRoot(
	calls: FileCalls,
	path: BytePath,
	root: BytePath,
	recursive: boolean,
): Promise<void> {
	await withChainBelow(calls, path, root, async (chain, names, own) => {
		if (recursive) {
			await chain.goTo([...names, own], directory => createIfMissing(calls, directory));
			return () => {};
		}
		await chain.goTo(names);
		return () => calls.mkdir(joinPath(chain.path, own));
	});
}

type Descend<T> = (chain: DirectoryChain, names: readonly string[], own: string) => Promise<() => T | Promise<T>>;

/** Runs `descend`, in which a link is refused, and then the operation it returns, while the directories are held. */
async function withChainBelow<T>(calls: FileCalls, path: BytePath, root: BytePath, descend: Descend<T>): Promise<T> {
	const names = namesBelow(root, path);
	const own = names.pop();
	if (own === undefined) throw refusedError('path is the root itself');
	const chain = await DirectoryChain.open(calls, root);
	try {
		const operate = await refuseObstacles(() => descend(chain, names, own));
		return await operate();
	} finally {
		await chain.close();
	}
}

/** Opens a directory that is the root or below it; a missing one is created if `create` is set. */
export async function openChainBelow(
	calls: FileCalls,
	path: BytePath,
	root: BytePath | undefined,
	create?: () => void,
): Promise<DirectoryChain> {
	if (root === undefined) return DirectoryChain.open(calls, path);
	const names = namesBelow(root, path);
	const above = await DirectoryChain.open(calls, root);
	try {
		const make = async (directory: BytePath) => {
			await createIfMissing(calls, directory);
			create?.();
		};
		await refuseObstacles(() => above.goTo(names, create && make));
		return await DirectoryChain.open(calls, above.path);
	} finally {
		await above.close();
	}
}

async function refuseObstacles<T>(descend: () => Promise<T>): Promise<T> {
	try {
		return await descend();
	} catch (error) {
		if (isErrno(error, 'ENOTDIR', 'ELOOP')) throw refusedError('a link or a file is in the way of a directory');
		throw error;
	}
}

async function createIfMissing(calls: FileCalls, directory: BytePath): Promise<void> {
	try {
		await calls.mkdir(directory);
	} catch (error) {
		if (!isErrno(error, 'EEXIST')) throw error;
	}
}

/** Components of a path below a root; none for the root itself. Refuses a path that is not below it. */
function namesBelow(root: BytePath, path: BytePath): string[] {
	const [above, names] = [components(root), components(path)];
	const below = names.slice(above.length);
	if (above.some((name, index) => name !== names[index]) || below.includes('..')) {
		throw refusedError('path is not below the root');
	}
	return below;
}

function components(path: BytePath): string[] {
	return path.split('/').filter(name => name !== '' && name !== '.');
}
