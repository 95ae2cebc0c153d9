import {constants, copyFile, type Stats, statfsSync} from 'node:fs';
import {promisify} from 'node:util';
import {copyRange} from '../shared/node/copy-range.js';
import {type BytePath, toFsPath} from './byte-path.js';
import {isErrno} from './file-errors.js';
import {fdPath} from './no-follow.js';
import {MAX_READ_FILE_BYTES, MAX_SYNC_BYTES} from './read-file.js';
import {asyncCalls, type FileCalls} from './syscalls.js';
import {writeAll} from './write-file.js';

/** Bytes of one read: with them the two trips to the thread pool are a small part of the work. */
const BLOCK_BYTES = 512 * 1024;
/** The same for a file that claims to be empty, as most of them are. */
const UNSIZED_BLOCK_BYTES = 16 * 1024;
/** Files up to here are copied before a thread of the pool would have begun. */
const MIN_KERNEL_BYTES = 64 * 1024;
/** Bytes that a thread of the pool copies within the kernel until it has to look for other work. */
const KERNEL_BLOCK_BYTES = 16 * 1024 * 1024;
const PERMISSIONS = 0o7777;
/** `f_type` of CIFS and SMB2, which have no modes of files. */
const FILE_SYSTEMS_WITHOUT_MODES: ReadonlySet<number> = new Set([0xff534d42, 0xfe534d42]);

/** Copies the content or clones it; fails with `COPYFILE_FICLONE_FORCE` where it cannot be cloned. */
const copyByName = promisify<string | Buffer, string | Buffer, number, void>((from, to, mode, done) =>
	copyFile(from, to, mode, done),
);

/** A file that is open, and the path it was opened by. */
export interface CopiedFile {
	readonly fd: number;
	readonly path: BytePath;
	readonly stats: Stats;
}

/**
 * Gives one open file the mode and the content of another. On Linux Node's own copy waits for as many bytes as the file
 * had at first, and never ends if there are fewer of them: one that is cut off meanwhile, or one of /sys.
 */
export async function copyModeAndContent(calls: FileCalls, from: CopiedFile, to: CopiedFile): Promise<void> {
	if (process.platform !== 'linux') {
		await copyByName(toFsPath(from.path), toFsPath(to.path), 0);
		return;
	}
	if (to.stats.size > 0) await calls.truncate(to.fd, 0);
	await setMode(calls, to.fd, from.stats.mode & PERMISSIONS);
	const {size} = from.stats;
	const copied = size > MIN_KERNEL_BYTES ? await copyWithinKernel(from.fd, to.fd, size) : 0;
	if (copied < size || size === 0) await copyBytes(calls, from.fd, to.fd, {at: copied, size});
}

/** Copies a large file as far as the kernel can by itself, which shares blocks of the disk if that has them; returns how far. */
async function copyWithinKernel(from: number, to: number, size: number): Promise<number> {
	let at = 0;
	for (let copied: number | undefined; at < size; at += copied) {
		copied = await copyRange(from, to, Math.min(KERNEL_BLOCK_BYTES, size - at));
		if (copied === undefined && at === 0 && (await tryClone(from, to))) return size;
		if (!copied) break;
	}
	return at;
}

/**
 * Copies as many bytes as the file had at first, or fewer if its end comes before: one that grows does not hold it up.
 * A file without a size, such as those below /proc, is copied to its end.
 */
async function copyBytes(
	preferred: FileCalls,
	from: number,
	to: number,
	{at: begin, size}: {at: number; size: number},
): Promise<void> {
	const limit = size || MAX_READ_FILE_BYTES;
	const buffer = Buffer.allocUnsafe(Math.min(size - begin || UNSIZED_BLOCK_BYTES, BLOCK_BYTES));
	for (let at = begin; at < limit; ) {
		const calls = Math.max(size, at) > MAX_SYNC_BYTES ? asyncCalls : preferred;
		const length = await calls.read(from, buffer.subarray(0, Math.min(buffer.length, limit - at)), at);
		if (length === 0) return;
		await writeAll(calls, to, buffer.subarray(0, length), at);
		at += length;
	}
}

/** Lets both files share the blocks of the disk. False if they cannot, for whatever reason: a copy tells it then. */
async function tryClone(from: number, to: number): Promise<boolean> {
	try {
		await copyByName(fdPath(from), fdPath(to), constants.COPYFILE_FICLONE_FORCE);
		return true;
	} catch {
		return false;
	}
}

async function setMode(calls: FileCalls, fd: number, mode: number): Promise<void> {
	try {
		await calls.chmod(fd, mode);
	} catch (error) {
		if (!isErrno(error, 'EPERM') || !FILE_SYSTEMS_WITHOUT_MODES.has(statfsSync(fdPath(fd)).type)) throw error;
	}
}
