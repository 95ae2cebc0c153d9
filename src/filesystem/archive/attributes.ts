import {constants} from 'node:fs';
import {type BytePath, childOf} from '../byte-path.js';
import {refused} from '../file-errors.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
import {DirectoryChain} from './directory-chain.js';
import {type EntryError, EntryErrors} from './entry-errors.js';
import {setTime} from './file-times.js';
import {MAX_PATH_NAMES, parseRelativePath} from './relative-path.js';
import {PERMISSIONS} from './tar-header.js';

const OPEN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

export interface AttributeChange {
	/** The way from the directory to it, percent-encoded; empty for the directory itself. */
	readonly name: string;
	readonly mode?: number | null | undefined;
	readonly modifiedAtMs?: number | null | undefined;
}

/** Gives entries below a directory their modes and times, in the order they come; those that fail are returned. */
export async function setAttributes(
	directory: BytePath,
	entries: readonly AttributeChange[],
): Promise<readonly EntryError[]> {
	if (entries.length > MAX_PATH_NAMES) throw refused(`more than ${MAX_PATH_NAMES} entries`);
	const calls = preferredCalls();
	const entryErrors = new EntryErrors(directory);
	const chain = await DirectoryChain.open(calls, directory);
	try {
		for (const entry of entries) {
			const way = parseRelativePath(entry.name);
			try {
				await chain.goTo(way.slice(0, -1));
				await set(calls, childOf(chain.place, way.at(-1) ?? '.'), entry);
			} catch (error) {
				entryErrors.add(way.join('/'), error);
			}
		}
	} finally {
		await chain.close();
	}
	return entryErrors.list;
}

async function set(calls: FileCalls, place: BytePath, {mode, modifiedAtMs}: AttributeChange): Promise<void> {
	const stats = await calls.lstat(place);
	if (!stats.isFile() && !stats.isDirectory()) throw refused('path is neither a directory nor a regular file');
	const fd = await calls.open(place, OPEN);
	try {
		if (mode !== undefined && mode !== null) await calls.chmod(fd, mode & PERMISSIONS);
		if (modifiedAtMs !== undefined && modifiedAtMs !== null) await setTime(fd, modifiedAtMs);
	} finally {
		await calls.close(fd);
	}
}
