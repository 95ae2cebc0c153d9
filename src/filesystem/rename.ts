import {withEntryBelow} from './below-root.js';
import {type BytePath, parentPath} from './byte-path.js';
import {isErrno} from './file-errors.js';
import {syncDirectory} from './sync.js';
import {type FileCalls, preferredCalls} from './syscalls.js';

export interface RenameOptions {
	/** Atomically replaces the target. */
	readonly overwrite: boolean;
	/** Directory above both paths, below which no link is followed. */
	readonly root?: BytePath | undefined;
	/** The new name survives a power cut; whether the content does is for whoever wrote it. */
	readonly sync?: boolean | undefined;
}

/** Moves a file, a link or a directory within its file system. */
export async function renameEntry(
	from: BytePath,
	to: BytePath,
	{overwrite, root, sync = false}: RenameOptions,
): Promise<void> {
	const calls = preferredCalls(from, to);
	const moveAndSync = async (source: BytePath, target: BytePath) => {
		await move(calls, source, target, overwrite);
		if (sync) await syncDirectory(calls, parentPath(target));
	};
	if (root === undefined) await moveAndSync(from, to);
	else {
		await withEntryBelow(calls, from, root, source =>
			withEntryBelow(calls, to, root, target => moveAndSync(source, target)),
		);
	}
}

async function move(calls: FileCalls, from: BytePath, to: BytePath, overwrite: boolean): Promise<void> {
	if (overwrite) await calls.rename(from, to);
	else if ((await calls.lstat(from)).isDirectory()) await renameDirectory(calls, from, to);
	else await renameFile(calls, from, to);
}

/** link() and unlink(), since link() fails if the target exists; no file is lost in between. */
async function renameFile(calls: FileCalls, from: BytePath, to: BytePath): Promise<void> {
	await calls.link(from, to);
	await calls.unlink(from);
}

/** Reserves the name with an empty directory, the only kind that rename() replaces. */
async function renameDirectory(calls: FileCalls, from: BytePath, to: BytePath): Promise<void> {
	await calls.mkdir(to);
	try {
		await calls.rename(from, to);
	} catch (error) {
		await removeClaim(calls, to);
		throw error;
	}
}

async function removeClaim(calls: FileCalls, path: BytePath): Promise<void> {
	try {
		await calls.rmdir(path);
	} catch (error) {
		// Another program has used or replaced the directory: it stays.
		if (!isErrno(error, 'ENOTEMPTY', 'ENOENT', 'ENOTDIR', 'EEXIST')) throw error;
	}
}
