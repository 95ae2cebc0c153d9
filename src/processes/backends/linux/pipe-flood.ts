// Linux only: the size of a pipe can be set.
import {ENLARGED_PIPE_BYTES, type PipeSource} from '../pipe-turns.js';
import type {Libc} from './libc.js';

const F_SETPIPE_SZ = 1031;
/** Pipes that are enlarged at once. The kernel counts the pages of all pipes of a user, and makes new ones tiny beyond 64 MiB. */
const MAX_ENLARGED_PIPES = 64;
let enlargedPipes = 0;

/** Reads a pipe that does not block into given memory, and makes it larger. */
export function createPipeSource(libc: Libc, fd: number): PipeSource {
	let isEnlarged = false;
	return {
		read: block => libc.read(fd, block, block.length),
		enlarge() {
			if (enlargedPipes >= MAX_ENLARGED_PIPES || libc.fcntl(fd, F_SETPIPE_SZ, ENLARGED_PIPE_BYTES) < 0) return false;
			enlargedPipes++;
			isEnlarged = true;
			return true;
		},
		close() {
			if (isEnlarged) enlargedPipes--;
			isEnlarged = false;
		},
	};
}
