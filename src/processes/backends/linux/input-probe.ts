// Linux only: ioctl numbers and the layout of `struct termios`.
import {fstatSync, statSync} from 'node:fs';
import type {InputSource} from '../backend.js';
import type {Libc} from './libc.js';

const TCGETS = 0x5401;
const TIOCGPGRP = 0x540f;
/** More than the kernel's `struct termios` takes. */
const TERMIOS_BYTES = 64;
/** Local modes follow the input, output and control modes, of four bytes each. */
const LOCAL_MODES_OFFSET = 12;
const ICANON = 0x02;
const ECHO = 0x08;

/** The pipe that this end of it, which must be open, belongs to. */
export function probePipe(fd: number): InputSource {
	return {kind: 'pipe', inode: fstatSync(fd).ino};
}

/** Modes and foreground of a terminal, by its master, which must be open. */
export function probeTerminal(libc: Libc, fd: number, path: string): InputSource | undefined {
	const modes = Buffer.alloc(TERMIOS_BYTES);
	const device = statSync(path, {throwIfNoEntry: false})?.rdev;
	if (device === undefined || libc.ioctl(fd, TCGETS, modes) !== 0) return undefined;
	const local = modes.readUInt32LE(LOCAL_MODES_OFFSET);
	return {
		kind: 'terminal',
		path,
		device,
		foregroundGroup: readForegroundGroup(libc, fd),
		isCanonical: (local & ICANON) !== 0,
		isEchoing: (local & ECHO) !== 0,
	};
}

/** The master may ask for any session that has the terminal, unlike the slave. */
function readForegroundGroup(libc: Libc, fd: number): number | undefined {
	const word = Buffer.alloc(4);
	if (libc.ioctl(fd, TIOCGPGRP, word) !== 0) return undefined;
	const group = word.readInt32LE();
	return group > 0 ? group : undefined;
}
