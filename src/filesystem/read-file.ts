import {mayHang} from '../shared/node/mounts.js';
import {followsLinks, type LinkOptions} from './below-root.js';
import type {BytePath} from './byte-path.js';
import {refusedError} from './file-errors.js';
import {openToRead, READ} from './open-file.js';
import {asyncCalls, type FileCalls, preferredCalls, syncCalls} from './syscalls.js';

/** Largest file that is read as a whole. */
export const MAX_READ_FILE_BYTES = 512 * 1024 * 1024;
/** Largest read or write done synchronously: it ends before a thread of the pool would have started it. */
export const MAX_SYNC_BYTES = 256 * 1024;
/** First read of a file without a size, such as those below /proc. */
const INITIAL_BUFFER_BYTES = 64 * 1024;

export interface ReadFileOptions extends LinkOptions {
	/** Back-pressure: runs `read` once so many bytes may be buffered, or throws if they never may. */
	readonly admit?: (bytes: number, read: () => Promise<Uint8Array>) => Promise<Uint8Array>;
}

/** Reads the whole content of a regular file. */
export async function readWholeFile(path: BytePath, {admit, ...links}: ReadFileOptions): Promise<Uint8Array> {
	const preferred = preferredCalls(path);
	const {fd, stats} = await openToRead(preferred, path, links);
	try {
		if (stats.size > MAX_READ_FILE_BYTES) throw tooLargeError();
		const calls = stats.size <= MAX_SYNC_BYTES ? preferred : asyncCalls;
		const read = () => readToEnd(calls, fd, stats.size);
		return await (admit ? admit(stats.size, read) : read());
	} finally {
		await preferred.close(fd);
	}
}

/**
 * Reads a small regular file without a promise. Undefined for every other file, and where it may have to be waited for:
 * those are read with `readWholeFile`.
 */
export function readSmallFileAtOnce(path: BytePath, links: LinkOptions, maxBytes: number): Uint8Array | undefined {
	if (!followsLinks(links) || mayHang(path)) return undefined;
	// Looked at before the open, which can trigger a device.
	if (!syncCalls.stat(path).isFile()) return undefined;
	const fd = syncCalls.open(path, READ);
	try {
		const stats = syncCalls.fstat(fd);
		if (!stats.isFile() || stats.size > maxBytes) return undefined;
		// One byte more than the size: a short read at exactly the reported size is the end.
		const buffer = Buffer.allocUnsafe(stats.size + 1);
		const length = syncCalls.read(fd, buffer, 0);
		return length === stats.size ? buffer.subarray(0, length) : undefined;
	} finally {
		syncCalls.close(fd);
	}
}

/** Reads until the end of the file, which may be before or after the reported size. */
async function readToEnd(calls: FileCalls, fd: number, size: number): Promise<Uint8Array> {
	// One byte more than the size, so that a short read shows the end without another read.
	let buffer: Buffer = Buffer.allocUnsafe((size || INITIAL_BUFFER_BYTES) + 1);
	for (let length = 0; ; ) {
		const got = await calls.read(fd, buffer.subarray(length), length);
		length += got;
		// A short read at exactly the reported size is the end.
		if (got === 0 || (length === size && length < buffer.length)) return buffer.subarray(0, length);
		if (length > MAX_READ_FILE_BYTES) throw tooLargeError();
		if (length === buffer.length) buffer = enlarge(buffer);
	}
}

function enlarge(buffer: Buffer): Buffer {
	const larger = Buffer.allocUnsafe(Math.min(buffer.length * 2, MAX_READ_FILE_BYTES + 1));
	buffer.copy(larger);
	return larger;
}

function tooLargeError(): Error {
	return refusedError(`file is too large to read: limit is ${MAX_READ_FILE_BYTES} bytes`);
}
