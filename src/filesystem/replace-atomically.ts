import {randomBytes} from 'node:crypto';
import {constants, type Stats} from 'node:fs';
import {type BytePath, childOf, nameOf, parentOf} from './byte-path.js';
import {isErrno, refused, systemError} from './file-errors.js';
import {withoutFollowingLinks} from './no-follow.js';
import {lstatIfExists} from './stat.js';
import {asyncCalls, type FileCalls} from './syscalls.js';
import {writeAll} from './write-file.js';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const NEW_FILE_MODE = 0o666;
/** Nobody else sees what is being written for a file with a mode of its own. */
const PRIVATE_MODE = 0o600;
const PERMISSIONS = 0o7777;
const MAX_NAME_BYTES = 255;
/** As many links as the system itself follows. */
const MAX_LINKS = 40;
const ELOOP = 40;
const EISDIR = 21;

/** Synced to the disk beside the file, then put in its place in one step. What fails leaves the file as it was. */
export async function replaceAtomically(path: BytePath, content: Uint8Array, followSymlinks: boolean): Promise<void> {
	const calls = asyncCalls;
	if (followSymlinks) await replace(calls, await targetOf(calls, path), content);
	else await withoutFollowingLinks(calls, path, entry => replace(calls, entry, content));
}

async function replace(calls: FileCalls, path: BytePath, content: Uint8Array): Promise<void> {
	const existing = await existingFile(calls, path);
	const temporary = childOf(parentOf(path), temporaryName(nameOf(path)));
	const fd = await calls.open(temporary, CREATE, existing ? PRIVATE_MODE : NEW_FILE_MODE);
	try {
		try {
			await writeAll(calls, fd, content, null);
			if (existing) await takeAfter(calls, fd, existing);
			await calls.sync(fd);
		} finally {
			await calls.close(fd);
		}
		await calls.rename(temporary, path);
	} catch (error) {
		await calls.unlink(temporary);
		throw error;
	}
	await syncDirectory(calls, parentOf(path));
}

/** What a plain write would be allowed to write to; undefined when there is nothing yet. */
async function existingFile(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	const stats = await lstatIfExists(calls, path);
	if (!stats) return undefined;
	if (stats.isSymbolicLink()) throw systemError('ELOOP', ELOOP);
	if (stats.isDirectory()) throw systemError('EISDIR', EISDIR);
	if (!stats.isFile()) throw refused('path is not a regular file');
	await calls.access(path, constants.W_OK);
	return stats;
}

async function takeAfter(calls: FileCalls, fd: number, {mode, uid, gid}: Stats): Promise<void> {
	const made = await calls.fstat(fd);
	// Only the privileged can give a file away, and for them the owner is part of what must not change.
	if (made.uid !== uid || made.gid !== gid) await calls.chown(fd, uid, gid);
	await calls.chmod(fd, mode & PERMISSIONS);
}

/** Where a write through links ends up, also through one that leads to nothing yet; the links stay. */
async function targetOf(calls: FileCalls, path: BytePath, depth = 0): Promise<BytePath> {
	try {
		return await calls.realpath(path);
	} catch (error) {
		if (!isErrno(error, 'ENOENT')) throw error;
	}
	const place = childOf(await calls.realpath(parentOf(path)), nameOf(path));
	const link = await linkAt(calls, place);
	if (link === undefined) return place;
	if (depth === MAX_LINKS) throw systemError('ELOOP', ELOOP);
	return targetOf(calls, link.startsWith('/') ? (link as BytePath) : childOf(parentOf(place), link), depth + 1);
}

async function linkAt(calls: FileCalls, path: BytePath): Promise<string | undefined> {
	try {
		return await calls.readlink(path);
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'EINVAL')) return undefined;
		throw error;
	}
}

function temporaryName(name: string): string {
	const suffix = `.${randomBytes(6).toString('hex')}.tmp`;
	return `.${name.slice(0, MAX_NAME_BYTES - suffix.length - 1)}${suffix}`;
}

/** The new name has to survive a crash as well. */
async function syncDirectory(calls: FileCalls, directory: BytePath): Promise<void> {
	const fd = await calls.open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
	try {
		await calls.sync(fd);
	} catch (error) {
		// Some file systems cannot do this for a directory.
		if (!isErrno(error, 'EINVAL')) throw error;
	} finally {
		await calls.close(fd);
	}
}
