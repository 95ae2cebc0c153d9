import type {Stats} from 'node:fs';
import type {BytePath} from './byte-path.js';
import {refuseLink, withoutFollowingLinks} from './no-follow.js';
import {preferredCalls} from './syscalls.js';

export interface FileMetadata {
	readonly isDirectory: boolean;
	readonly isFile: boolean;
	readonly isSymlink: boolean;
	readonly size: number;
	/** Milliseconds since the epoch, 0 where the file system does not know. */
	readonly createdAtMs: number;
	readonly modifiedAtMs: number;
}

/** Describes what a path leads to; `isSymlink` is about the path itself. Without links there may be none on the way. */
export async function getMetadata(path: BytePath, {followSymlinks}: {followSymlinks: boolean}): Promise<FileMetadata> {
	const calls = preferredCalls();
	if (!followSymlinks) {
		const stats = await withoutFollowingLinks(calls, path, entry => calls.lstat(entry));
		return stats.isSymbolicLink() ? refuseLink() : describe(stats, false);
	}
	const own = await calls.lstat(path);
	return own.isSymbolicLink() ? describe(await calls.stat(path), true) : describe(own, false);
}

function describe(stats: Stats, isSymlink: boolean): FileMetadata {
	return {
		isDirectory: stats.isDirectory(),
		isFile: stats.isFile(),
		isSymlink,
		size: stats.size,
		createdAtMs: wholeMs(stats.birthtimeMs),
		modifiedAtMs: wholeMs(stats.mtimeMs),
	};
}

/** Times before the epoch count as unknown. */
function wholeMs(ms: number): number {
	return Math.max(0, Math.floor(ms));
}
