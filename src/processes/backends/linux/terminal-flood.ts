// Linux only: fread of the C library on a descriptor that does not block.
import {F_DUPFD_CLOEXEC} from '../../../shared/node/memory-file.js';
import type {FloodSource} from '../output-reader.js';
import type {CFile, Libc} from './libc.js';

/** `setvbuf` without a buffer: bytes go from the kernel to the caller's memory. */
const UNBUFFERED = 2;

/**
 * Reads a flooding terminal on a thread of the pool. The kernel gives 4 KiB per call and keeps a reader of an empty
 * terminal waiting for its own worker, so the event loop would mostly wait there; `fread` repeats the call until
 * the terminal is empty or the block is full, in one job. It has a duplicate of the descriptor, which may be closed meanwhile.
 */
export function createFloodSource(libc: Libc, fd: number): FloodSource {
	let file: CFile | undefined;
	return {
		read(block, done) {
			file ??= openFile(libc, fd);
			if (file === undefined) return false;
			libc.fread.async(block, 1, block.length, file, (error, length) => done(error ? 0 : Number(length)));
			return true;
		},
		close() {
			if (file !== undefined) libc.fclose(file);
			file = undefined;
		},
	};
}

function openFile(libc: Libc, fd: number): CFile | undefined {
	const duplicate = libc.fcntl(fd, F_DUPFD_CLOEXEC, 0);
	const file = duplicate < 0 ? null : libc.fdopen(duplicate, 'r');
	if (file === null) return undefined;
	libc.setvbuf(file, null, UNBUFFERED, 0);
	return file;
}
