import type {Dirent, Stats} from 'node:fs';
import {opendir} from 'node:fs/promises';
import {LongarmError} from '../shared/errors.js';
import {Yielder} from '../shared/node/yielder.js';
import {type BytePath, childOf, display, parentOf, toSystem} from './byte-path.js';
import {isErrno, systemError} from './file-errors.js';
import {createWithoutFollowingLinks} from './no-follow.js';
import type {FileCalls} from './syscalls.js';
import {preferredCalls} from './syscalls.js';

/** Largest directory that is listed as a whole. */
export const LISTING_LIMIT_ENTRIES = 50_000;
const EEXIST = 17;

export interface NamedEntry {
	/** What is not UTF-8 is replaced. */
	readonly fileName: string;
	readonly isDirectory: boolean;
	readonly isFile: boolean;
}

export interface CreateDirectoryOptions {
	/** With parents, and content with what is there already. */
	readonly recursive: boolean;
	readonly followSymlinks: boolean;
}

export async function createDirectory(path: BytePath, options: CreateDirectoryOptions): Promise<void> {
	const calls = preferredCalls();
	if (!options.followSymlinks) await createWithoutFollowingLinks(calls, path, options.recursive);
	else if (options.recursive) await createWithParents(calls, path);
	else await calls.mkdir(path);
}

/** The direct children in the order of the system. A link is what it leads to; one that leads nowhere is left out. */
export async function readDirectory(path: BytePath): Promise<NamedEntry[]> {
	const calls = preferredCalls();
	const yielder = new Yielder();
	const entries: NamedEntry[] = [];
	const listing = await listDirectory(calls, path, LISTING_LIMIT_ENTRIES);
	if (listing.length > LISTING_LIMIT_ENTRIES) throw tooManyEntries(listing.length);
	for (const entry of listing) {
		const kind = entry.isSymbolicLink() ? await targetOf(calls, childOf(path, entry.name)) : entry;
		if (!kind) continue;
		entries.push({fileName: display(entry.name), isDirectory: kind.isDirectory(), isFile: kind.isFile()});
		const pause = yielder.yieldIfDue();
		if (pause) await pause;
	}
	return entries;
}

export async function canonicalize(path: BytePath): Promise<BytePath> {
	return preferredCalls().realpath(path);
}

/** Creates what is missing from the bottom up: mostly there is nothing to do but the last. */
export async function createWithParents(calls: FileCalls, path: BytePath): Promise<void> {
	try {
		await calls.mkdir(path);
		return;
	} catch (error) {
		if (isErrno(error, 'ENOENT') && parentOf(path) !== path) {
			await createWithParents(calls, parentOf(path));
			await createWithParents(calls, path);
			return;
		}
		// Some systems rather complain that they may not write than that there is nothing to write.
		if (await isDirectory(calls, path)) return;
		throw error;
	}
}

function tooManyEntries(count: number): LongarmError {
	return new LongarmError('FILE_FAILED', {
		message: `fs/readDirectory returned ${count} entries; limit is ${LISTING_LIMIT_ENTRIES}`,
		context: {limit: LISTING_LIMIT_ENTRIES},
	});
}

async function targetOf(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	try {
		return await calls.stat(path);
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return undefined;
		throw error;
	}
}

async function isDirectory(calls: FileCalls, path: BytePath): Promise<boolean> {
	try {
		if ((await calls.stat(path)).isDirectory()) return true;
	} catch {
		return false;
	}
	throw systemError('EEXIST', EEXIST);
}

/** A directory up to this size holds some thousand entries and is read in one go. */
const SMALL_DIRECTORY_BYTES = 256 * 1024;
const ENTRIES_PER_READ = 1024;

/** The entries of a directory in the order of the system; of one that has more than `most`, at least one more. */
export async function listDirectory(calls: FileCalls, path: BytePath, most: number): Promise<Dirent[]> {
	const {size} = await calls.stat(path);
	return size <= SMALL_DIRECTORY_BYTES ? calls.readdir(path) : listInPieces(path, most);
}

async function listInPieces(path: BytePath, most: number): Promise<Dirent[]> {
	const entries: Dirent[] = [];
	const directory = await opendir(toSystem(path), {bufferSize: ENTRIES_PER_READ, encoding: 'latin1'});
	for await (const entry of directory) if (entries.push(entry) > most) break;
	return entries;
}
