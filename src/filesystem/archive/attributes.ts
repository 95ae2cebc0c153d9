import {constants} from 'node:fs';
import {openChainBelow, withEntryBelow} from '../below-root.js';
import {type BytePath, joinPath, parentPath} from '../byte-path.js';
import {refusedError} from '../file-errors.js';
import {SyncQueue, syncDirectory} from '../sync.js';
import {asyncCalls, type FileCalls, preferredCalls} from '../syscalls.js';
import {MAX_PATH_NAMES, parseRelativePath} from './directory-chain.js';
import {PERMISSIONS} from './tar-header.js';
import {type EntryError, EntryErrors} from './transfer-outcome.js';

const OPEN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

export interface AttributeChange {
	/** Path relative to the directory, percent-encoded; empty for the directory itself. */
	readonly name: string;
	readonly mode?: number | null | undefined;
	readonly modifiedAtMs?: number | null | undefined;
}

export interface ApplyOptions {
	/** See `LinkOptions.root`. */
	readonly root?: BytePath | undefined;
	/** The entries survive a power cut: contents of files, names in directories, and the name of the directory itself. */
	readonly sync?: boolean | undefined;
}

/** Sets modes and times of entries below a directory, in the given order; returns the errors. */
export async function applyAttributes(
	directory: BytePath,
	entries: readonly AttributeChange[],
	{root, sync = false}: ApplyOptions = {},
): Promise<readonly EntryError[]> {
	if (entries.length > MAX_PATH_NAMES) throw refusedError(`more than ${MAX_PATH_NAMES} entries`);
	const calls = preferredCalls(directory);
	const entryErrors = new EntryErrors(directory);
	const chain = await openChainBelow(calls, directory, root);
	const syncs = new SyncQueue();
	try {
		for (const entry of entries) {
			const names = parseRelativePath(entry.name);
			const name = names.join('/');
			try {
				await chain.goTo(names.slice(0, -1));
				const fd = await openEntry(calls, joinPath(chain.path, names.at(-1) ?? '.'));
				const finish = sync ? () => asyncCalls.sync(fd) : undefined;
				const change = () => setAndClose(calls, fd, entry, finish).catch(error => entryErrors.add(name, error));
				await (sync ? syncs.add(name, change) : change());
			} catch (error) {
				entryErrors.add(name, error);
			}
		}
		await syncs.drain();
		if (sync && entries.some(({name}) => name === '')) await syncParent(calls, directory, root);
	} finally {
		await syncs.drain();
		await chain.close();
	}
	return entryErrors.list;
}

/** The name of the directory itself; the root was there before. */
async function syncParent(calls: FileCalls, directory: BytePath, root: BytePath | undefined): Promise<void> {
	if (root === undefined) return syncDirectory(calls, parentPath(directory));
	return withEntryBelow(calls, directory, root, entry => syncDirectory(calls, parentPath(entry)));
}

async function openEntry(calls: FileCalls, path: BytePath): Promise<number> {
	const stats = await calls.lstat(path);
	if (!stats.isFile() && !stats.isDirectory()) throw refusedError('path is neither a directory nor a regular file');
	return calls.open(path, OPEN);
}

async function setAndClose(
	calls: FileCalls,
	fd: number,
	{mode, modifiedAtMs}: AttributeChange,
	finish?: () => Promise<void> | void,
): Promise<void> {
	try {
		if (mode !== undefined && mode !== null) await calls.chmod(fd, mode & PERMISSIONS);
		if (modifiedAtMs !== undefined && modifiedAtMs !== null) await calls.setTime(fd, modifiedAtMs);
		await finish?.();
	} finally {
		await calls.close(fd);
	}
}
