import {LongarmError} from '../shared/errors.js';
import {Yielder} from '../shared/node/yielder.js';
import {type LinkOptions, withEntryBelow} from './below-root.js';
import {type BytePath, joinPath, ROOT} from './byte-path.js';
import {listDirectory} from './directories.js';
import {isErrno, refusedError} from './file-errors.js';
import {fdPath, openDirectory, refuseLink, withoutFollowingLinks} from './no-follow.js';
import {type FileCalls, preferredCalls} from './syscalls.js';

export interface RemoveOptions extends LinkOptions {
	/** Removes directories with their content; else only empty ones. */
	readonly recursive: boolean;
	/** Accepts a path that does not exist. */
	readonly force: boolean;
}

/** Removes the entry at the path itself: of a link the link, never its target. */
export async function removePath(path: BytePath, options: RemoveOptions): Promise<void> {
	const {recursive, force, followSymlinks, root} = options;
	if (path === ROOT) throw refusedError('the root directory cannot be removed');
	const calls = preferredCalls(path);
	try {
		const yielder = recursive ? new Yielder() : undefined;
		if (root !== undefined) await withEntryBelow(calls, path, root, entry => removeEntry(calls, entry, yielder));
		else if (followSymlinks) await removeEntry(calls, path, yielder);
		else await removeWithoutLinks(calls, path, recursive);
	} catch (error) {
		if (!(force && isErrno(error, 'ENOENT'))) throw error;
	}
}

async function removeWithoutLinks(calls: FileCalls, path: BytePath, recursive: boolean): Promise<void> {
	if (recursive) {
		throw new LongarmError('FILE_FAILED', {message: 'recursive no-follow removal is unsupported'});
	}
	await withoutFollowingLinks(calls, path, async entry => {
		if ((await calls.lstat(entry)).isSymbolicLink()) refuseLink();
		await removeEntry(calls, entry, undefined);
	});
}

/** With a yielder removes the content of a directory first. */
export async function removeEntry(calls: FileCalls, path: BytePath, yielder: Yielder | undefined): Promise<void> {
	if (!(await calls.lstat(path)).isDirectory()) {
		await calls.unlink(path);
		return;
	}
	if (yielder) await removeChildren(calls, path, yielder);
	await calls.rmdir(path);
}

/**
 * Removes the content of a directory through its descriptor: if the directory is replaced by a link concurrently,
 * nothing is removed at the target of the link.
 */
async function removeChildren(calls: FileCalls, path: BytePath, yielder: Yielder): Promise<void> {
	if (process.platform !== 'linux') {
		await removeEntries(calls, path, yielder);
		return;
	}
	const fd = await openDirectory(calls, path);
	try {
		await removeEntries(calls, fdPath(fd), yielder);
	} finally {
		await calls.close(fd);
	}
}

async function removeEntries(calls: FileCalls, directory: BytePath, yielder: Yielder): Promise<void> {
	for (const child of await listDirectory(calls, directory, Number.POSITIVE_INFINITY)) {
		const path = joinPath(directory, child.name);
		if (child.isDirectory()) await removeEntry(calls, path, yielder);
		else await calls.unlink(path);
		const pause = yielder.yieldIfDue();
		if (pause) await pause;
	}
}
