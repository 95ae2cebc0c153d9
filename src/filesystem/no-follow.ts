import {constants} from 'node:fs';
import {LongarmError} from '../shared/errors.js';
import {type BytePath, joinPath, ROOT, splitPath} from './byte-path.js';
import {isErrno, refusedError} from './file-errors.js';
import {type FileCalls, O_PATH} from './syscalls.js';

const FD_DIRECTORY = '/proc/self/fd/';
const OPEN_DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Callback with an entry that was reached without links; the path is valid while the callback runs. */
export type UseEntry<T> = (entry: BytePath) => T | Promise<T>;

/**
 * Descends a path without following links and calls `use` with its last component. Each directory is opened relative
 * to the descriptor of its parent, so a concurrent swap of a directory for a link has no effect. A link in the middle
 * is `ENOTDIR`; a link at the end is for `use` to refuse.
 */
export async function withoutFollowingLinks<T>(calls: FileCalls, path: BytePath, use: UseEntry<T>): Promise<T> {
	const names = splitPath(path);
	const last = names.pop();
	if (last === undefined) return use(ROOT);
	return withDirectory(calls, names, async fd => use(joinPath(fdPath(fd), last)));
}

/** Creates a directory, and with `recursive` its parents, without following links. */
export async function createWithoutFollowingLinks(calls: FileCalls, path: BytePath, recursive: boolean): Promise<void> {
	const names = splitPath(path);
	if (!recursive) {
		if (names.length === 0) throw new LongarmError('FILE_FAILED', {message: 'directory already exists'});
		await withoutFollowingLinks(calls, path, entry => calls.mkdir(entry));
		return;
	}
	await withDirectory(
		calls,
		names,
		() => {},
		async entry => {
			try {
				await calls.mkdir(entry);
			} catch (error) {
				if (!isErrno(error, 'EEXIST')) throw error;
			}
		},
	);
}

export function refuseLink(): never {
	throw refusedError('path contains a symbolic link');
}

/** Path of the inode behind a descriptor, independent of its name. */
export function fdPath(fd: number): BytePath {
	return `${FD_DIRECTORY}${fd}` as BytePath;
}

/** True for a path of `fdPath` itself, not for one below it. */
export function isFdPath(path: BytePath): boolean {
	return path.startsWith(FD_DIRECTORY) && !path.includes('/', FD_DIRECTORY.length);
}

/** Opens a directory; a link to one fails with `ENOTDIR`. */
export async function openDirectory(calls: FileCalls, entry: BytePath): Promise<number> {
	return calls.open(entry, OPEN_DIRECTORY);
}

async function withDirectory<T>(
	calls: FileCalls,
	names: readonly string[],
	use: (fd: number) => T | Promise<T>,
	prepare?: (entry: BytePath) => Promise<void>,
): Promise<T> {
	requireLinux();
	let fd = await openDirectory(calls, ROOT);
	try {
		for (const name of names) {
			const entry = joinPath(fdPath(fd), name);
			await prepare?.(entry);
			const next = await openDirectory(calls, entry);
			await calls.close(fd);
			fd = next;
		}
		return await use(fd);
	} finally {
		await calls.close(fd);
	}
}

/** Other systems have no paths of descriptors, and a check of a path that can be swapped afterwards is no check. */
function requireLinux(): void {
	if (process.platform === 'linux') return;
	throw new LongarmError('NOT_SUPPORTED', {
		message: 'no-follow filesystem operations are not supported on this platform',
	});
}
