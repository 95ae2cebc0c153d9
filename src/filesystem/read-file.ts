import type {BytePath} from './byte-path.js';
import {refused} from './file-errors.js';
import {openToRead} from './open-file.js';
import {asyncCalls, type FileCalls, preferredCalls} from './syscalls.js';

/** The largest file that is read as a whole. */
export const READ_FILE_LIMIT_BYTES = 512 * 1024 * 1024;
/** Up to here a read is over before another thread would have begun it. */
export const QUICK_BYTES = 256 * 1024;
/** How much is asked for of a file that does not tell its size, such as those below /proc. */
const UNKNOWN_SIZE_BYTES = 64 * 1024;

export interface ReadFileOptions {
	readonly followSymlinks: boolean;
	/** Runs the read once there is room for so many bytes, or throws when there never will be. */
	readonly admit?: (bytes: number, read: () => Promise<Uint8Array>) => Promise<Uint8Array>;
}

/** The whole content of a regular file. */
export async function readFile(path: BytePath, {followSymlinks, admit}: ReadFileOptions): Promise<Uint8Array> {
	const quick = preferredCalls();
	const {fd, stats} = await openToRead(quick, path, followSymlinks);
	try {
		if (stats.size > READ_FILE_LIMIT_BYTES) throw tooLarge();
		const calls = stats.size <= QUICK_BYTES ? quick : asyncCalls;
		const read = () => readToEnd(calls, fd, stats.size);
		return await (admit ? admit(stats.size, read) : read());
	} finally {
		await quick.close(fd);
	}
}

/** Reads as far as there is something to read, which may be more or less than the size was. */
async function readToEnd(calls: FileCalls, fd: number, size: number): Promise<Uint8Array> {
	// One byte more than expected, so that the end is met without another look.
	let buffer: Buffer = Buffer.allocUnsafe((size || UNKNOWN_SIZE_BYTES) + 1);
	for (let length = 0; ; ) {
		const got = await calls.read(fd, buffer.subarray(length), length);
		length += got;
		// Less than was asked for, and as much as there was: that is the end, without another look.
		if (got === 0 || (length === size && length < buffer.length)) return buffer.subarray(0, length);
		if (length > READ_FILE_LIMIT_BYTES) throw tooLarge();
		if (length === buffer.length) buffer = enlarged(buffer);
	}
}

function enlarged(buffer: Buffer): Buffer {
	const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2, READ_FILE_LIMIT_BYTES + 1));
	buffer.copy(larger);
	return larger;
}

function tooLarge(): Error {
	return refused(`file is too large to read: limit is ${READ_FILE_LIMIT_BYTES} bytes`);
}
