import {closeSync, fstatSync, ftruncateSync, linkSync, lstatSync, renameSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {LongarmError} from '../../shared/errors.js';
import {randomHex} from '../../shared/random-id.js';
import {findLockFile} from './file-calls.js';
import {createPrivateFile, isSystemError, openRegularFile, readTextFile, writeFully} from './state-files.js';

export const LOCK_FILE = 'lock';
const MAX_PID_BYTES = 64;
/** Attempts to take over the lock of a server that is gone, while others try the same. */
const MAX_ATTEMPTS = 8;

/** Keeps other servers out of a state directory. */
export interface StateLock {
	/** Inherited over an upgrade, where the lock belongs to the open file. */
	readonly descriptor: number;
	release(): void;
}

/** Throws STATE_UNUSABLE with the process id of the holder. */
export function lockState(directory: string, lockFile = findLockFile()): StateLock {
	const path = join(directory, LOCK_FILE);
	if (!lockFile) return lockByPid(directory, path);
	const fd = openRegularFile(path, 'create');
	if (lockFile(fd)) return holdOpenFile(fd);
	closeSync(fd);
	throw heldBy(directory, readPid(path));
}

/** Goes on with the lock of the program that this one has replaced: same process, same open file. */
export function adoptLock(directory: string, fd: number, lockFile = findLockFile()): StateLock {
	const path = join(directory, LOCK_FILE);
	const inherited = fstatSync(fd);
	const present = lstatSync(path);
	const isSame = inherited.ino === present.ino && inherited.dev === present.dev;
	if (!isSame || lockFile?.(fd) === false) throw heldBy(directory, readPid(path));
	return lockFile ? holdOpenFile(fd) : {descriptor: fd, release: () => releasePid(path, fd)};
}

function holdOpenFile(fd: number): StateLock {
	const text = Buffer.from(`${process.pid}\n`);
	try {
		ftruncateSync(fd, 0);
		writeFully(fd, text, 0);
	} catch {
		// A full disk does not take the name of the holder; the lock holds all the same.
	}
	return {descriptor: fd, release: () => closeSync(fd)};
}

/** Where the kernel's locks are out of reach: a file that names its holder, who is alive. */
function lockByPid(directory: string, path: string): StateLock {
	const own = `${path}.${randomHex(8)}`;
	const fd = createPrivateFile(own);
	try {
		writeFully(fd, Buffer.from(`${process.pid}\n`), 0);
		for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
			if (link(own, path)) return {descriptor: fd, release: () => releasePid(path, fd)};
			const holder = readPid(path);
			if (holder !== undefined && holder !== process.pid && isRunning(holder)) throw heldBy(directory, holder);
			setAside(path, holder);
		}
		throw heldBy(directory, readPid(path));
	} catch (error) {
		closeSync(fd);
		throw error;
	} finally {
		rmSync(own, {force: true});
	}
}

/** False if there is something of that name. */
function link(from: string, to: string): boolean {
	try {
		linkSync(from, to);
		return true;
	} catch (error) {
		if (isSystemError(error, 'EEXIST')) return false;
		throw error;
	}
}

/** Removes the lock of a holder that is gone, unless another server has done so, and holds it now. */
function setAside(path: string, holder: number | undefined): void {
	const aside = `${path}.${randomHex(8)}`;
	try {
		renameSync(path, aside);
	} catch (error) {
		if (isSystemError(error, 'ENOENT')) return;
		throw error;
	}
	if (readPid(aside) !== holder) link(aside, path);
	rmSync(aside, {force: true});
}

function releasePid(path: string, fd: number): void {
	closeSync(fd);
	if (readPid(path) === process.pid) rmSync(path, {force: true});
}

function readPid(path: string): number | undefined {
	try {
		const pid = Number.parseInt(readTextFile(path, MAX_PID_BYTES), 10);
		return pid > 0 ? pid : undefined;
	} catch {
		return undefined;
	}
}

/** Process id of the server that uses, or has used, a state directory; undefined if none is known. */
export function readLockHolder(directory: string): number | undefined {
	return readPid(join(directory, LOCK_FILE));
}

function isRunning(pid: number): boolean {
	try {
		return process.kill(pid, 0);
	} catch (error) {
		return isSystemError(error, 'EPERM');
	}
}

function heldBy(directory: string, pid: number | undefined): LongarmError {
	const holder = pid === undefined ? 'another server' : `the server with process id ${pid}`;
	const context = {path: directory, isHeld: true, ...(pid !== undefined && {pid})};
	return new LongarmError('STATE_UNUSABLE', {message: `state ${directory} is used by ${holder}`, context});
}
