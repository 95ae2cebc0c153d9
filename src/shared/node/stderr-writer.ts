import {constants, fstatSync, openSync, writeSync} from 'node:fs';

const STDERR = 2;
const OWN_STDERR = '/proc/self/fd/2';

/** Writes one line; false if it could not be written. */
export type WriteLine = (line: string) => boolean;

/**
 * Writes lines to stderr without ever waiting for its reader. A line that cannot be written (full disk, reader gone, full
 * pipe) is dropped: logging never stops the work.
 */
export function createStderrWriter(): WriteLine {
	let fd: number | undefined;
	let isCut = false;
	return line => {
		fd ??= openWithoutBlocking();
		const bytes = Buffer.from(isCut ? `\n${line}` : line);
		try {
			const isWhole = writeSync(fd, bytes) === bytes.length;
			isCut = !isWhole;
			return isWhole;
		} catch {
			return false;
		}
	};
}

/**
 * Descriptor of stderr whose writes fail instead of blocking. Pipes and terminals are opened once more, which leaves the
 * descriptor that other programs share as it is. Sockets cannot be: the runtime sets their mode with its stream, and
 * restores it at the end.
 */
function openWithoutBlocking(): number {
	try {
		const stats = fstatSync(STDERR);
		if (stats.isFIFO() || stats.isCharacterDevice()) {
			return openSync(OWN_STDERR, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
		}
		if (stats.isSocket()) void process.stderr;
	} catch {
		// No stderr, or one that cannot be opened again, such as the terminal of another user.
	}
	return STDERR;
}
