// Linux only: /dev/ptmx and its ioctl numbers.
import {closeSync, constants, openSync} from 'node:fs';
import type {TerminalSize} from '../backend.js';
import {spawnError} from '../backend.js';
import type {Libc} from './libc.js';

const TIOCSPTLCK = 0x40045431;
const TIOCGPTN = 0x80045430;
const TIOCSWINSZ = 0x5414;

/** Opens a pseudo-terminal: the non-blocking master and the path of its slave. Modes are the kernel's defaults. */
export function openTerminal(libc: Libc, program: string): {fd: number; slave: string} {
	const fd = openMaster(program);
	const slave = libc.ioctl(fd, TIOCSPTLCK, Buffer.alloc(4)) === 0 ? findSlave(libc, fd) : undefined;
	if (slave !== undefined) return {fd, slave};
	const errno = libc.errno();
	closeSync(fd);
	throw spawnError(errno, program);
}

/** Path of the slave of an open master; undefined if the system does not tell. */
export function findSlave(libc: Libc, fd: number): string | undefined {
	const word = Buffer.alloc(4);
	return libc.ioctl(fd, TIOCGPTN, word) === 0 ? `/dev/pts/${word.readInt32LE()}` : undefined;
}

export function setTerminalSize(libc: Libc, fd: number, {columns, rows}: TerminalSize): void {
	const size = Buffer.alloc(8);
	size.writeUInt16LE(rows, 0);
	size.writeUInt16LE(columns, 2);
	libc.ioctl(fd, TIOCSWINSZ, size);
}

function openMaster(program: string): number {
	try {
		return openSync('/dev/ptmx', constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
	} catch (error) {
		throw spawnError((error as NodeJS.ErrnoException).errno ?? 0, program);
	}
}
