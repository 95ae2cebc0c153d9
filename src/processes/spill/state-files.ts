import {
	closeSync,
	constants,
	existsSync,
	fstatSync,
	mkdirSync,
	openSync,
	readSync,
	renameSync,
	rmSync,
	writeSync,
} from 'node:fs';
import {dirname} from 'node:path';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {osErrorText} from '../../shared/node/os-error.js';

export const PRIVATE_DIRECTORY_MODE = 0o700;
const PRIVATE_FILE_MODE = 0o600;
// Other systems lack some of them. A pipe in the place of a file must not stop the program.
const NO_FOLLOW = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW;

/** Creates a file for its owner alone, to read and write; throws if there is anything of that name. */
export function createPrivateFile(path: string): number {
	return openSync(path, CREATE, PRIVATE_FILE_MODE);
}

/** Opens a regular file that is no symbolic link. */
export function openRegularFile(path: string, access: 'read' | 'write' | 'create'): number {
	const flags = access === 'read' ? constants.O_RDONLY : constants.O_RDWR;
	const creation = access === 'create' ? constants.O_CREAT : 0;
	const fd = openSync(path, flags | creation | NO_FOLLOW, PRIVATE_FILE_MODE);
	return closeAfterFailure(fd, () => {
		if (fstatSync(fd).isFile()) return fd;
		throw new Error(`${path} is no regular file`);
	});
}

/** Closes a descriptor that was just opened if `use` throws. */
export function closeAfterFailure<T>(fd: number, use: () => T): T {
	try {
		return use();
	} catch (error) {
		closeQuietly(fd);
		throw error;
	}
}

/** The descriptor is free in any case. An error tells that the disk has not taken something, and nobody is left to hear it. */
export function closeQuietly(fd: number): void {
	try {
		closeSync(fd);
	} catch {}
}

/** Replaces a file by another one in one step, so that a reader finds the one or the other. Pieces are written one by one. */
export function replaceFile(path: string, content: string | Iterable<string>): void {
	const partial = `${path}.partial`;
	const fd = createAnew(partial);
	try {
		closeAfterFailure(fd, () => writePieces(fd, typeof content === 'string' ? [content] : content));
		closeSync(fd);
		renameSync(partial, path);
	} catch (error) {
		removeQuietly(partial);
		throw error;
	}
}

/** Removes what is only half there and takes space on a full disk; the error that left it so is the one to tell. */
export function removeQuietly(path: string): void {
	try {
		rmSync(path, {recursive: true, force: true});
	} catch {}
}

/** Removes what an earlier attempt has left; there is hardly ever any. */
function createAnew(path: string): number {
	try {
		return createPrivateFile(path);
	} catch (error) {
		if (!isSystemError(error, 'EEXIST')) throw error;
		rmSync(path, {force: true});
		return createPrivateFile(path);
	}
}

/** The text of a file; throws if it is longer. */
export function readTextFile(path: string, maxBytes: number): string {
	const fd = openRegularFile(path, 'read');
	try {
		const {size} = fstatSync(fd);
		if (size > maxBytes) throw new Error(`${path} has ${size} bytes, and at most ${maxBytes} are expected`);
		const content = Buffer.alloc(size);
		return content.toString('utf8', 0, readFully(fd, content, size, 0));
	} finally {
		closeSync(fd);
	}
}

/** Reads `length` bytes at a position; fewer at the end of the file. */
export function readFully(fd: number, target: Buffer, length: number, position: number): number {
	let done = 0;
	while (done < length) {
		const count = readSync(fd, target, done, length - done, position + done);
		if (count === 0) break;
		done += count;
	}
	return done;
}

export function writeFully(fd: number, bytes: Uint8Array, position: number): void {
	for (let done = 0; done < bytes.length; ) {
		done += writeSync(fd, bytes, done, bytes.length - done, position + done);
	}
}

function writePieces(fd: number, pieces: Iterable<string>): void {
	let position = 0;
	for (const piece of pieces) {
		const bytes = Buffer.from(piece);
		writeFully(fd, bytes, position);
		position += bytes.length;
	}
}

/** True for an error of the operating system of this name. */
export function isSystemError(error: unknown, code: string): boolean {
	return (error as NodeJS.ErrnoException).code === code;
}

/** Why the state directory cannot be used, in the words of the system. */
export function toStateError(error: unknown, path: string): LongarmError {
	if (error instanceof LongarmError) return error;
	const {errno, code} = error as NodeJS.ErrnoException;
	const reason = errno === undefined ? errorMessage(error) : osErrorText(errno);
	const context = {path, ...(code !== undefined && {errno: code})};
	return new LongarmError('STATE_UNUSABLE', {
		message: `state ${path} cannot be used: ${reason}`,
		context,
		cause: error,
	});
}

/** Makes a directory and those above it that are missing. Node's own way never ends where the system makes none, as in /proc. */
export function makeDirectories(path: string): void {
	if (existsSync(path)) return;
	const parent = dirname(path);
	if (parent !== path) makeDirectories(parent);
	try {
		mkdirSync(path, {mode: PRIVATE_DIRECTORY_MODE});
	} catch (error) {
		// Another program may have been faster.
		if (!isSystemError(error, 'EEXIST')) throw error;
	}
}
