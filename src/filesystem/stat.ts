import type {Stats} from 'node:fs';
import {mayHang} from '../shared/node/mounts.js';
import {followsLinks, type LinkOptions, withEntryBelow} from './below-root.js';
import type {BytePath} from './byte-path.js';
import {isErrno} from './file-errors.js';
import {refuseLink} from './no-follow.js';
import {type FileCalls, preferredCalls, syncCalls} from './syscalls.js';

/** stat(), or undefined if the path does not exist or is a dangling link. */
export async function statIfExists(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	return undefinedIfMissing(() => calls.stat(path));
}

/** lstat(), or undefined if the path does not exist. */
export async function lstatIfExists(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	return undefinedIfMissing(() => calls.lstat(path));
}

async function undefinedIfMissing(ask: () => Stats | Promise<Stats>): Promise<Stats | undefined> {
	try {
		return await ask();
	} catch (error) {
		if (isErrno(error, 'ENOENT')) return undefined;
		throw error;
	}
}

export interface FileMetadata {
	readonly isDirectory: boolean;
	readonly isFile: boolean;
	readonly isSymlink: boolean;
	readonly size: number;
	/** Milliseconds since the epoch, 0 if the file system does not record it. */
	readonly createdAtMs: number;
	readonly modifiedAtMs: number;
}

/** Metadata of the file at a path; `isSymlink` is about the path itself. Without `followSymlinks` any link is refused. */
export async function readMetadata(path: BytePath, links: LinkOptions): Promise<FileMetadata> {
	const calls = preferredCalls(path);
	if (!followsLinks(links)) {
		const stats = await withEntryBelow(calls, path, links.root, entry => calls.lstat(entry));
		return stats.isSymbolicLink() ? refuseLink() : toMetadata(stats, false);
	}
	const stats = await calls.lstat(path);
	return stats.isSymbolicLink() ? toMetadata(await calls.stat(path), true) : toMetadata(stats, false);
}

/** The same without a promise; undefined where it may have to be waited for. */
export function readMetadataAtOnce(path: BytePath, links: LinkOptions): FileMetadata | undefined {
	if (!followsLinks(links) || mayHang(path)) return undefined;
	const stats = syncCalls.lstat(path);
	return stats.isSymbolicLink() ? toMetadata(syncCalls.stat(path), true) : toMetadata(stats, false);
}

function toMetadata(stats: Stats, isSymlink: boolean): FileMetadata {
	return {
		isDirectory: stats.isDirectory(),
		isFile: stats.isFile(),
		isSymlink,
		size: stats.size,
		createdAtMs: toWholeMs(stats.birthtimeMs),
		modifiedAtMs: toWholeMs(stats.mtimeMs),
	};
}

/** Times before the epoch count as unknown. */
function toWholeMs(ms: number): number {
	return Math.max(0, Math.floor(ms));
}
