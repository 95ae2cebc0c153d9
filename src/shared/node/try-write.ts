import {writeSync} from 'node:fs';

/**
 * One write(2) on a descriptor that does not block, past the runtime's streams, which cost several times as much for a few
 * bytes. Returns how many bytes the kernel took. Where a stream has the same descriptor, nothing may wait in it before, and it
 * is given the rest.
 */
export function tryWrite(fd: number, bytes: Uint8Array): number | 'full' | 'broken' {
	if (bytes.length === 0) return 0;
	try {
		return writeSync(fd, bytes);
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 'full' : 'broken';
	}
}
