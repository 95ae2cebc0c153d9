import {constants} from 'node:fs';
import {type BytePath, childOf} from '../byte-path.js';
import {refused} from '../file-errors.js';
import {type FileCalls, quickCalls} from '../syscalls.js';
import {DirectoryChain} from './directory-chain.js';
import {type Complaint, Complaints} from './entry-errors.js';
import {setTime} from './file-times.js';
import {MAX_NAMES, wayOf} from './relative-path.js';
import {PERMISSIONS} from './tar-header.js';

const OPEN = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

export interface EntryAttributes {
	/** The way from the directory to it, percent-encoded; empty for the directory itself. */
	readonly name: string;
	readonly mode?: number | null | undefined;
	readonly modifiedAtMs?: number | null | undefined;
}

/** Gives entries below a directory their modes and times, in the order they come; those that fail are returned. */
export async function setAttributes(
	directory: BytePath,
	entries: readonly EntryAttributes[],
): Promise<readonly Complaint[]> {
	if (entries.length > MAX_NAMES) throw refused(`more than ${MAX_NAMES} entries`);
	const calls = quickCalls();
	const complaints = new Complaints(directory);
	const chain = await DirectoryChain.open(calls, directory);
	try {
		for (const entry of entries) {
			const way = wayOf(entry.name);
			try {
				await chain.goTo(way.slice(0, -1));
				await set(calls, childOf(chain.place, way.at(-1) ?? '.'), entry);
			} catch (error) {
				complaints.add(way.join('/'), error);
			}
		}
	} finally {
		await chain.close();
	}
	return complaints.list;
}

async function set(calls: FileCalls, place: BytePath, {mode, modifiedAtMs}: EntryAttributes): Promise<void> {
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
