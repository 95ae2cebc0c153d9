// Linux only: the constants are those of its C library.
import {type Libc, loadLibc} from '../backends/linux/libc.js';

const FALLOC_FL_KEEP_SIZE = 1;
const FALLOC_FL_PUNCH_HOLE = 2;
const LOCK_EX = 2;
const LOCK_NB = 4;

/** Gives a part of a file back to the disk: it reads as zeros. False where that is not possible. */
export type PunchHole = (fd: number, offset: number, length: number) => boolean;

/** Loading takes longer than a call; null where the library cannot be loaded. */
let libc: Libc | null | undefined;

function getLibc(): Libc | undefined {
	libc ??= loadLibc() ?? null;
	return libc ?? undefined;
}

export const punchHole: PunchHole = (fd, offset, length) =>
	getLibc()?.fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) === 0;

/** Locks an open file until all its descriptors are closed; false if another one has it. */
export type LockFile = (fd: number) => boolean;

/** Null where there are no such locks. */
export function findLockFile(): LockFile | null {
	const calls = getLibc();
	return calls ? fd => calls.flock(fd, LOCK_EX | LOCK_NB) === 0 : null;
}
