import {constants} from 'node:fs';
import {openChainBelow} from '../below-root.js';
import {type BytePath, joinPath} from '../byte-path.js';
import {refusedError} from '../file-errors.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
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

/** Sets modes and times of entries below a directory, in the given order; returns the errors. See `LinkOptions.root`. */
export async function applyAttributes(
	directory: BytePath,
	entries: readonly AttributeChange[],
	root?: BytePath,
): Promise<readonly EntryError[]> {
	if (entries.length > MAX_PATH_NAMES) throw refusedError(`more than ${MAX_PATH_NAMES} entries`);
	const calls = preferredCalls();
	const entryErrors = new EntryErrors(directory);
	const chain = await openChainBelow(calls, directory, root);
	try {
		for (const entry of entries) {
			const names = parseRelativePath(entry.name);
			try {
				await chain.goTo(names.slice(0, -1));
				await setEntryAttributes(calls, joinPath(chain.path, names.at(-1) ?? '.'), entry);
			} catch (error) {
				entryErrors.add(names.join('/'), error);
			}
		}
	} finally {
		await chain.close();
	}
	return entryErrors.list;
}

async function setEntryAttributes(
	calls: FileCalls,
	path: BytePath,
	{mode, modifiedAtMs}: AttributeChange,
): Promise<void> {
	const stats = await calls.lstat(path);
	if (!stats.isFile() && !stats.isDirectory()) throw refusedError('path is neither a directory nor a regular file');
	const fd = await calls.open(path, OPEN);
	try {
		if (mode !== undefined && mode !== null) await calls.chmod(fd, mode & PERMISSIONS);
		if (modifiedAtMs !== undefined && modifiedAtMs !== null) await calls.setTime(fd, modifiedAtMs);
	} finally {
		await calls.close(fd);
	}
}
