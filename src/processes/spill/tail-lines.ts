import {readFully} from './state-files.js';

/** Bytes that are searched for line ends at most: a file without any must not stop the program. */
export const MAX_TAIL_BYTES = 64 * 1024 * 1024;
const BLOCK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Position of the last lines of an open file between two positions; a line end at the very end begins no line. */
export function findTailStart(fd: number, {start, end}: {start: number; end: number}, lines: number): number {
	if (lines === 0) return end;
	const block = Buffer.allocUnsafe(BLOCK_BYTES);
	const floor = Math.max(start, end - MAX_TAIL_BYTES);
	let left = lines;
	for (let stop = end - 1; stop > floor; ) {
		const from = Math.max(floor, stop - BLOCK_BYTES);
		const bytes = block.subarray(0, readFully(fd, block, stop - from, from));
		for (let at = bytes.lastIndexOf(NEWLINE); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1)) {
			if (--left === 0) return from + at + 1;
		}
		stop = from;
	}
	return floor;
}
