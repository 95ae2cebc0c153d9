import type {Dirent, Stats} from 'node:fs';
import {opendir} from 'node:fs/promises';
import {LongarmError} from '../shared/errors.js';
import {Yielder} from '../shared/node/yielder.js';
import {createBelowRoot, type LinkOptions} from './below-root.js';
import {type BytePath, joinPath, parentPath, toDisplayText, toFsPath} from './byte-path.js';
import {isErrno, systemError} from './file-errors.js';
import {createWithoutFollowingLinks, fdPath, isFdPath} from './no-follow.js';
import {type FileCalls, O_PATH, preferredCalls} from './syscalls.js';

/** Entries of a directory that is listed in one reply. */
export const MAX_LISTED_ENTRIES = 50_000;
/** A directory up to this size holds some thousand entries and is read with one call. */
const MAX_SINGLE_READ_BYTES = 256 * 1024;
const ENTRIES_PER_READ = 1024;
/** Entries between two looks at the clock, which cost as much as an entry. */
const ENTRIES_PER_LOOK = 32;

export interface NamedEntry {
	/** Bytes that are not UTF-8 are replaced. */
	readonly fileName: string;
	readonly isDirectory: boolean;
	readonly isFile: boolean;
}

export interface CreateDirectoryOptions extends LinkOptions {
	/** Creates parents, and accepts a directory that exists. */
	readonly recursive: boolean;
}

export async function makeDirectory(path: BytePath, options: CreateDirectoryOptions): Promise<void> {
	const calls = preferredCalls(path);
	if (options.root !== undefined) await createBelowRoot(calls, path, options.root, options.recursive);
	else if (!options.followSymlinks) await createWithoutFollowingLinks(calls, path, options.recursive);
	else if (options.recursive) await createWithParents(calls, path);
	else await calls.mkdir(path);
}

/** Direct children in the order of the system. Links are followed; dangling ones are left out. */
export async function listDirectoryChildren(path: BytePath): Promise<NamedEntry[]> {
	const calls = preferredCalls(path);
	const yielder = new Yielder();
	const entries: NamedEntry[] = [];
	const listing = await listDirectory(calls, path, MAX_LISTED_ENTRIES);
	if (listing.length > MAX_LISTED_ENTRIES) throw tooManyEntriesError(listing.length);
	for (const entry of listing) {
		const kind = entry.isSymbolicLink() ? await statTarget(calls, joinPath(path, entry.name)) : entry;
		if (!kind) continue;
		entries.push({fileName: toDisplayText(entry.name), isDirectory: kind.isDirectory(), isFile: kind.isFile()});
		const pause = entries.length % ENTRIES_PER_LOOK === 0 ? yielder.yieldIfDue() : undefined;
		if (pause) await pause;
	}
	return entries;
}

export async function resolveRealPath(path: BytePath): Promise<BytePath> {
	const calls = preferredCalls(path);
	const resolved = await calls.realpath(path);
	// Entries that show the server itself are refused here as elsewhere.
	await calls.lstat(resolved);
	return resolved;
}

/** Creates missing directories from the bottom up: usually only the last one is missing. */
export async function createWithParents(calls: FileCalls, path: BytePath): Promise<void> {
	try {
		await calls.mkdir(path);
		return;
	} catch (error) {
		if (isErrno(error, 'ENOENT') && parentPath(path) !== path) {
			await createWithParents(calls, parentPath(path));
			await createWithParents(calls, path);
			return;
		}
		// Some systems report a missing permission (EACCES, EROFS) before EEXIST.
		if (await isExistingDirectory(calls, path)) return;
		throw error;
	}
}

function tooManyEntriesError(count: number): LongarmError {
	return new LongarmError('FILE_FAILED', {
		message: `fs/readDirectory returned ${count} entries; limit is ${MAX_LISTED_ENTRIES}`,
		context: {limit: MAX_LISTED_ENTRIES},
	});
}

async function statTarget(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	try {
		return await calls.stat(path);
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return undefined;
		throw error;
	}
}

/** Throws EEXIST if something else is at the path. */
async function isExistingDirectory(calls: FileCalls, path: BytePath): Promise<boolean> {
	try {
		if ((await calls.stat(path)).isDirectory()) return true;
	} catch {
		return false;
	}
	throw systemError('EEXIST');
}

/** Entries of a directory in the order of the system. Returns more than `maxEntries` if there are more, not always all. */
export async function listDirectory(calls: FileCalls, path: BytePath, maxEntries: number): Promise<Dirent[]> {
	if (process.platform !== 'linux' || isFdPath(path)) return list(calls, path, await calls.stat(path), maxEntries);
	// The directory that was looked at is the one that is listed, whatever is put in its place.
	const fd = await calls.open(path, O_PATH);
	try {
		return await list(calls, fdPath(fd), await calls.fstat(fd), maxEntries);
	} finally {
		await calls.close(fd);
	}
}

async function list(calls: FileCalls, path: BytePath, {size}: Stats, maxEntries: number): Promise<Dirent[]> {
	return size <= MAX_SINGLE_READ_BYTES ? calls.readdir(path) : listInPieces(path, maxEntries);
}

async function listInPieces(path: BytePath, maxEntries: number): Promise<Dirent[]> {
	const entries: Dirent[] = [];
	const directory = await opendir(toFsPath(path), {bufferSize: ENTRIES_PER_READ, encoding: 'latin1'});
	for await (const entry of directory) if (entries.push(entry) > maxEntries) break;
	return entries;
}
