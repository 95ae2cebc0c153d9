import {withEntryBelow} from './below-root.js';
import type {BytePath} from './byte-path.js';
import {isErrno} from './file-errors.js';
import {type FileCalls, preferredCalls} from './syscalls.js';

export interface RenameOptions {
	/** Atomically replaces the target. */
	readonly overwrite: boolean;
	/** Directory above both paths, below which no link is followed. */
	readonly root?: BytePath | undefined;
}

/** Moves a file, a link or a directory within its file system. */
export async function renameEntry(from: BytePath, to: BytePath, {overwrite, root}: RenameOptions): Promise<void> {
	const calls = preferredCalls();
	if (root === undefined) await move(calls, from, to, overwrite);
	else {
		await withEntryBelow(calls, from, root, source =>
			withEntryBelow(calls, to, root, target => move(calls, source, target, overwrite)),
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
