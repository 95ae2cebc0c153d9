import {constants} from 'node:fs';
import {LongarmError} from '../shared/errors.js';
import {type BytePath, childOf, ROOT, segmentsOf} from './byte-path.js';
import {isErrno, refused} from './file-errors.js';
import type {FileCalls} from './syscalls.js';

/** Names a place without opening what is there; Linux only, and not among Node's constants. */
const O_PATH = 0o10_000_000;
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Uses an entry of a directory that no link led to; `entry` is a path for as long as `use` runs. */
export type UseEntry<T> = (entry: BytePath) => T | Promise<T>;

/**
 * Goes down a path without following a single link and uses its last component. Each directory is opened below the
 * one before, through the descriptor that holds it, so nothing that is swapped meanwhile leads astray. A link on the
 * way is `ENOTDIR`; a link at the end is for `use` to refuse.
 */
export async function withoutFollowingLinks<T>(calls: FileCalls, path: BytePath, use: UseEntry<T>): Promise<T> {
	const names = segmentsOf(path);
	const last = names.pop();
	if (last === undefined) return use(ROOT);
	return withDirectory(calls, names, async fd => use(childOf(fdPath(fd), last)));
}

/** Creates a directory, and with `recursive` those above it, none of them through a link. */
export async function createWithoutFollowingLinks(calls: FileCalls, path: BytePath, recursive: boolean): Promise<void> {
	const names = segmentsOf(path);
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
	throw refused('path contains a symbolic link');
}

/** The path of what a descriptor holds, whatever has become of its name. */
export function fdPath(fd: number): BytePath {
	return `/proc/self/fd/${fd}` as BytePath;
}

/** Opens an entry of a directory as a directory, if it is one itself. */
export async function openDirectory(calls: FileCalls, entry: BytePath): Promise<number> {
	return calls.open(entry, DIRECTORY);
}

async function withDirectory<T>(
	calls: FileCalls,
	names: readonly string[],
	use: (fd: number) => T | Promise<T>,
	prepare?: (entry: BytePath) => Promise<void>,
): Promise<T> {
	requireHolding();
	let fd = await openDirectory(calls, ROOT);
	try {
		for (const name of names) {
			const entry = childOf(fdPath(fd), name);
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

/** Elsewhere a directory cannot be held while going below it, and a check without holding is no check. */
function requireHolding(): void {
	if (process.platform === 'linux') return;
	throw new LongarmError('NOT_SUPPORTED', {
		message: 'no-follow filesystem operations are not supported on this platform',
	});
}
