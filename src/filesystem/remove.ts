import {LongarmError} from '../shared/errors.js';
import {Pacer} from '../shared/node/yielder.js';
import {type BytePath, childOf, ROOT} from './byte-path.js';
import {listDirectory} from './directories.js';
import {isErrno, refused} from './file-errors.js';
import {held, openDirectory, refuseLink, withoutLinks} from './no-follow.js';
import {type FileCalls, quickCalls} from './syscalls.js';

export interface RemoveOptions {
	/** Directories with everything in them; else only empty ones. */
	readonly recursive: boolean;
	/** Content with nothing being there. */
	readonly force: boolean;
	readonly followSymlinks: boolean;
}

/** Removes what the path itself names: of a link the link, never its target. */
export async function remove(path: BytePath, {recursive, force, followSymlinks}: RemoveOptions): Promise<void> {
	if (path === ROOT) throw refused('the root directory cannot be removed');
	const calls = quickCalls();
	try {
		if (followSymlinks) await removeEntry(calls, path, recursive ? new Pacer() : undefined);
		else await removeWithoutLinks(calls, path, recursive);
	} catch (error) {
		if (!(force && isErrno(error, 'ENOENT'))) throw error;
	}
}

async function removeWithoutLinks(calls: FileCalls, path: BytePath, recursive: boolean): Promise<void> {
	if (recursive) {
		throw new LongarmError('FILE_FAILED', {message: 'recursive no-follow removal is unsupported'});
	}
	await withoutLinks(calls, path, async entry => {
		if ((await calls.lstat(entry)).isSymbolicLink()) refuseLink();
		await removeEntry(calls, entry, undefined);
	});
}

/** With a pacer everything below goes first. */
export async function removeEntry(calls: FileCalls, path: BytePath, pacer: Pacer | undefined): Promise<void> {
	if (!(await calls.lstat(path)).isDirectory()) {
		await calls.unlink(path);
		return;
	}
	if (pacer) await removeChildren(calls, path, pacer);
	await calls.rmdir(path);
}

/**
 * Removes what is in a directory through a descriptor that holds it: should somebody put a link in its place
 * meanwhile, nothing is removed where the link leads.
 */
async function removeChildren(calls: FileCalls, path: BytePath, pacer: Pacer): Promise<void> {
	if (process.platform !== 'linux') {
		await removeListed(calls, path, pacer);
		return;
	}
	const fd = await openDirectory(calls, path);
	try {
		await removeListed(calls, held(fd), pacer);
	} finally {
		await calls.close(fd);
	}
}

async function removeListed(calls: FileCalls, directory: BytePath, pacer: Pacer): Promise<void> {
	for (const child of await listDirectory(calls, directory, Number.POSITIVE_INFINITY)) {
		const path = childOf(directory, child.name);
		if (child.isDirectory()) await removeEntry(calls, path, pacer);
		else await calls.unlink(path);
		const pause = pacer.pause();
		if (pause) await pause;
	}
}
