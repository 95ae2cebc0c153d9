import {constants, type Dirent} from 'node:fs';
import {Yielder} from '../shared/node/yielder.js';
import {type BytePath, baseName, isWithin, joinPath, parentPath} from './byte-path.js';
import {type CopiedFile, copyModeAndContent} from './copy-content.js';
import {createWithParents, listDirectory} from './directories.js';
import {isErrno, refusedError, systemError} from './file-errors.js';
import {openForWriting} from './open-file.js';
import {lstatIfExists, statIfExists} from './stat.js';
import {type FileCalls, preferredCalls} from './syscalls.js';

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
const WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;
/** Private until the copy gets the mode of its source. */
const NEW_FILE_MODE = 0o600;

/**
 * Copies a link as a link, a file with its mode, and with `recursive` a directory into a new or an existing one.
 * Collisions are detected before anything is copied. Special files inside a directory are skipped.
 */
export async function copyEntry(from: BytePath, to: BytePath, {recursive}: {recursive: boolean}): Promise<void> {
	const calls = preferredCalls(from, to);
	const stats = await calls.lstat(from);
	if (stats.isSymbolicLink()) await copyLink(calls, from, to);
	else if (stats.isFile()) await copyFile(calls, from, to);
	else if (stats.isDirectory()) await copyDirectory(calls, from, to, recursive);
	else throw refusedError('fs/copy only supports regular files, directories, and symlinks');
}

async function copyDirectory(calls: FileCalls, from: BytePath, to: BytePath, recursive: boolean): Promise<void> {
	if (!recursive) throw refusedError('fs/copy requires recursive: true when sourcePath is a directory');
	const [source, destination] = [await calls.realpath(from), await resolveDestination(calls, to)];
	if (isWithin(destination, source)) {
		throw refusedError('fs/copy cannot copy a directory to itself or one of its descendants');
	}
	const yielder = new Yielder();
	if (await statIfExists(calls, to)) await findCollision(calls, source, to, yielder);
	await copyTree(calls, source, to, yielder);
}

async function copyTree(calls: FileCalls, from: BytePath, to: BytePath, yielder: Yielder): Promise<void> {
	await createWithParents(calls, to);
	for (const child of await listDirectory(calls, from, Number.POSITIVE_INFINITY)) {
		const [source, destination] = [joinPath(from, child.name), joinPath(to, child.name)];
		if (child.isDirectory()) await copyTree(calls, source, destination, yielder);
		else if (child.isFile()) await copyFile(calls, source, destination);
		else if (child.isSymbolicLink()) await copyLink(calls, source, destination);
		const pause = yielder.yieldIfDue();
		if (pause) await pause;
	}
}

/** Throws the error at which the copy would stop halfway. */
async function findCollision(calls: FileCalls, from: BytePath, to: BytePath, yielder: Yielder): Promise<void> {
	if (!(await calls.stat(to)).isDirectory()) throw systemError('EEXIST');
	for (const child of await listDirectory(calls, from, Number.POSITIVE_INFINITY)) {
		const destination = joinPath(to, child.name);
		const existing = await lstatIfExists(calls, destination);
		if (existing) await refuseCollision(calls, child, destination);
		if (existing && child.isDirectory()) await findCollision(calls, joinPath(from, child.name), destination, yielder);
		const pause = yielder.yieldIfDue();
		if (pause) await pause;
	}
}

async function refuseCollision(calls: FileCalls, child: Dirent, destination: BytePath): Promise<void> {
	if (child.isSymbolicLink()) throw systemError('EEXIST');
	if (child.isFile() && (await statIfExists(calls, destination))?.isDirectory()) throw systemError('EISDIR');
}

async function copyLink(calls: FileCalls, from: BytePath, to: BytePath): Promise<void> {
	await calls.symlink(await calls.readlink(from), to);
}

/** Opens both files and verifies that they are regular before the copy; copying a file onto itself is a no-op. */
async function copyFile(calls: FileCalls, from: BytePath, to: BytePath): Promise<void> {
	await withFile(calls, from, await calls.open(from, READ), async source => {
		if (!source.stats.isFile()) throw refusedError('fs/copy only supports regular files, directories, and symlinks');
		await withFile(calls, to, await openForWriting(calls, to, WRITE, NEW_FILE_MODE), async destination => {
			if (!destination.stats.isFile()) throw refusedError('fs/copy cannot write to a special file');
			if (destination.stats.dev === source.stats.dev && destination.stats.ino === source.stats.ino) return;
			await copyModeAndContent(calls, source, destination);
		});
	});
}

async function withFile(
	calls: FileCalls,
	path: BytePath,
	fd: number,
	use: (file: CopiedFile) => Promise<void>,
): Promise<void> {
	try {
		await use({fd, path, stats: await calls.fstat(fd)});
	} finally {
		await calls.close(fd);
	}
}

/** Resolves the links of a path that need not exist, as far as it exists. */
async function resolveDestination(calls: FileCalls, path: BytePath): Promise<BytePath> {
	try {
		return await calls.realpath(path);
	} catch (error) {
		if (!isErrno(error, 'ENOENT') || parentPath(path) === path) throw error;
	}
	return joinPath(await resolveDestination(calls, parentPath(path)), baseName(path));
}
