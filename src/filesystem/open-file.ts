import {constants, type Stats} from 'node:fs';
import {followsLinks, type LinkOptions, withEntryBelow} from './below-root.js';
import {type BytePath, toDisplayText} from './byte-path.js';
import {isErrno, refusedError} from './file-errors.js';
import {fdPath} from './no-follow.js';
import {type FileCalls, O_PATH} from './syscalls.js';

// Opening a FIFO without a writer does not block, and a terminal does not become the controlling one.
const NON_BLOCKING = constants.O_NONBLOCK | constants.O_NOCTTY;
/** Flags to open a file of any kind for reading. */
export const READ = constants.O_RDONLY | NON_BLOCKING;
const WRITE = constants.O_WRONLY | constants.O_CREAT | NON_BLOCKING;
const TRUNCATE = constants.O_WRONLY | constants.O_TRUNC | NON_BLOCKING;
const NEW_FILE_MODE = 0o666;
const PRIVATE_MODE = 0o600;
const WRITABLE_BY_OTHERS = 0o022;

export interface OpenedFile {
	readonly fd: number;
	readonly stats: Stats;
}

export interface UpdateOptions extends LinkOptions {
	/** The file has to be one that this process's user alone can write to, under a single name. */
	readonly owned?: boolean | undefined;
}

/** Opens a regular file for reading. Special files are refused before the open, which can trigger a device. */
export async function openToRead(calls: FileCalls, path: BytePath, links: LinkOptions): Promise<OpenedFile> {
	if (!followsLinks(links)) {
		return withEntryBelow(calls, path, links.root, async entry => {
			if (isSpecial(await calls.lstat(entry))) throw notRegularError();
			return openRegular(calls, entry, READ | constants.O_NOFOLLOW, notRegularError);
		});
	}
	const notAFileError = () => refusedError(`path \`${toDisplayText(path)}\` is not a file`);
	if (isSpecial(await calls.stat(path))) throw notAFileError();
	return openRegular(calls, path, READ, notAFileError);
}

/** Opens a file for writing and truncates it; creates it if it is missing. */
export async function openToReplace(calls: FileCalls, path: BytePath, links: LinkOptions): Promise<OpenedFile> {
	const opened = followsLinks(links)
		? await addStats(calls, await openForWriting(calls, path, WRITE, NEW_FILE_MODE))
		: await withEntryBelow(calls, path, links.root, entry =>
				openRegular(calls, entry, WRITE | constants.O_NOFOLLOW, notRegularError),
			);
	if (!opened.stats.isFile() || opened.stats.size === 0) return opened;
	await closeOnFailure(calls, opened.fd, () => calls.truncate(opened.fd, 0));
	return opened;
}

/**
 * Opens a file for writing without truncating it, but fails like an open that truncates, as upstream does: on a read-only
 * mount with EROFS, where the permissions of the file alone would be EACCES.
 */
export async function openForWriting(calls: FileCalls, path: BytePath, flags: number, mode: number): Promise<number> {
	try {
		return await calls.open(path, flags, mode);
	} catch (error) {
		if (!isErrno(error, 'EACCES') || process.platform !== 'linux') throw error;
		return reopenToTruncate(calls, path, error);
	}
}

/** Truncates no file but the one that `fstat` has checked, even if another one takes its place meanwhile. */
async function reopenToTruncate(calls: FileCalls, path: BytePath, denial: unknown): Promise<number> {
	let reference: number;
	try {
		reference = await calls.open(path, O_PATH);
	} catch {
		// The path itself is out of reach, or the file would have to be created.
		throw denial;
	}
	try {
		await calls.fstat(reference);
		return await calls.open(fdPath(reference), TRUNCATE);
	} finally {
		await calls.close(reference);
	}
}

/** Opens a regular file, not a link, for writing without truncating it; a missing one is created for its owner only. */
export async function openToUpdate(calls: FileCalls, path: BytePath, options: UpdateOptions): Promise<OpenedFile> {
	const {root, owned = false} = options;
	const notAFileError = () => refusedError(`path \`${toDisplayText(path)}\` is not a file`);
	const open = (entry: BytePath) =>
		openRegular(calls, entry, WRITE | constants.O_NOFOLLOW, notAFileError, PRIVATE_MODE);
	const opened = await (root === undefined ? open(path) : withEntryBelow(calls, path, root, open));
	if (!owned || isOwned(opened.stats)) return opened;
	await calls.close(opened.fd);
	throw refusedError('the file is not one that only the user of the server can write to');
}

/** Systems without users have no owners and modes to compare. */
function isOwned({uid, mode, nlink}: Stats): boolean {
	const user = process.geteuid?.();
	return nlink === 1 && (user === undefined || (uid === user && (mode & WRITABLE_BY_OTHERS) === 0));
}

/** Closes the descriptor if `use` fails. */
export async function closeOnFailure<T>(calls: FileCalls, fd: number, use: () => T | Promise<T>): Promise<T> {
	try {
		return await use();
	} catch (error) {
		await calls.close(fd);
		throw error;
	}
}

async function openRegular(
	calls: FileCalls,
	path: BytePath,
	flags: number,
	refusal: () => Error,
	mode?: number,
): Promise<OpenedFile> {
	const opened = await openAny(calls, path, flags, mode);
	if (opened.stats.isFile()) return opened;
	await calls.close(opened.fd);
	throw refusal();
}

async function openAny(calls: FileCalls, path: BytePath, flags: number, mode = NEW_FILE_MODE): Promise<OpenedFile> {
	return addStats(calls, await calls.open(path, flags, mode));
}

function addStats(calls: FileCalls, fd: number): Promise<OpenedFile> {
	return closeOnFailure(calls, fd, async () => ({fd, stats: await calls.fstat(fd)}));
}

function isSpecial(stats: Stats): boolean {
	return !stats.isFile() && !stats.isSymbolicLink() && !stats.isDirectory();
}

function notRegularError(): Error {
	return refusedError('path is not a regular file');
}
