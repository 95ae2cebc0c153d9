import type {BytePath} from './byte-path.js';
import {isErrno} from './file-errors.js';
import {type FileCalls, preferredCalls} from './syscalls.js';

/** Moves a file, a link or a directory within its file system; with `overwrite` in place of what is there, in one step. */
export async function rename(from: BytePath, to: BytePath, {overwrite}: {overwrite: boolean}): Promise<void> {
	const calls = preferredCalls();
	if (overwrite) await calls.rename(from, to);
	else if ((await calls.lstat(from)).isDirectory()) await renameDirectory(calls, from, to);
	else await renameFile(calls, from, to);
}

/** A second name and then one less: between the two nobody's file is lost, and the second name is taken only if free. */
async function renameFile(calls: FileCalls, from: BytePath, to: BytePath): Promise<void> {
	await calls.link(from, to);
	await calls.unlink(from);
}

/** An empty directory claims the name; the system replaces that, and nothing that is not empty. */
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
		// Somebody has put something there: it is theirs now.
		if (!isErrno(error, 'ENOTEMPTY', 'ENOENT', 'ENOTDIR', 'EEXIST')) throw error;
	}
}
