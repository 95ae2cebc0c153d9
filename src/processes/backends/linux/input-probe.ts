// Linux only: ioctl numbers and the layouts of `struct termios` and `struct pollfd`.
import {fstatSync, statSync} from 'node:fs';
import type {InputSource} from '../backend.js';
import type {Libc} from './libc.js';

const TCGETS = 0x5401;
const TIOCGPGRP = 0x540f;
/** More than the kernel's `struct termios` takes. */
const TERMIOS_BYTES = 64;
/** Local modes follow the input, output and control modes, of four bytes each. */
const LOCAL_MODES_OFFSET = 12;
/** `struct pollfd`: descriptor, events to ask about, events found. An error is found without being asked about. */
const POLLFD_BYTES = 8;
const REVENTS_OFFSET = 6;
const POLLERR = 0x08;
/** Time and least number of bytes of a read of a raw terminal: control characters 5 and 6, behind the byte of the line discipline. */
const READ_TIME_OFFSET = 17 + 5;
const READ_MINIMUM_OFFSET = 17 + 6;
const ICANON = 0x02;
const ECHO = 0x08;

/** The pipe that this end of it, which must be open, belongs to. */
export function probePipe(fd: number): InputSource {
	return {kind: 'pipe', inode: fstatSync(fd).ino};
}

/** Whether some process can read from the pipe that this end of it writes to. */
export function hasPipeReader(libc: Libc, fd: number): boolean {
	const poll = Buffer.alloc(POLLFD_BYTES);
	poll.writeInt32LE(fd, 0);
	return libc.poll(poll, 1, 0) !== 1 || (poll.readUInt16LE(REVENTS_OFFSET) & POLLERR) === 0;
}

/** Modes and foreground of a terminal, by its master, which must be open. */
export function probeTerminal(libc: Libc, fd: number, path: string): InputSource | undefined {
	const modes = Buffer.alloc(TERMIOS_BYTES);
	const device = statSync(path, {throwIfNoEntry: false})?.rdev;
	if (device === undefined || libc.ioctl(fd, TCGETS, modes) !== 0) return undefined;
	const local = modes.readUInt32LE(LOCAL_MODES_OFFSET);
	const isCanonical = (local & ICANON) !== 0;
	return {
		kind: 'terminal',
		path,
		device,
		foregroundGroup: readForegroundGroup(libc, fd),
		isCanonical,
		isEchoing: (local & ECHO) !== 0,
		hasReadTimeout: !isCanonical && modes[READ_MINIMUM_OFFSET] === 0 && modes[READ_TIME_OFFSET] !== 0,
	};
}

/** The master may ask for any session that has the terminal, unlike the slave. */
function readForegroundGroup(libc: Libc, fd: number): number | undefined {
	const word = Buffer.alloc(4);
	if (libc.ioctl(fd, TIOCGPGRP, word) !== 0) return undefined;
	const group = word.readInt32LE();
	return group > 0 ? group : undefined;
}
