import {randomBytes} from 'node:crypto';
import {constants, type Stats} from 'node:fs';
import {followsLinks, type LinkOptions, withEntryBelow} from './below-root.js';
import type {BytePath} from './byte-path.js';
import {baseName, joinPath, parentPath} from './byte-path.js';
import {isErrno, refusedError, systemError} from './file-errors.js';
import {openToReplace} from './open-file.js';
import {MAX_SYNC_BYTES} from './read-file.js';
import {lstatIfExists} from './stat.js';
import {syncDirectory} from './sync.js';
import {asyncCalls, type FileCalls, preferredCalls} from './syscalls.js';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const NEW_FILE_MODE = 0o666;
/** Mode of the temporary file, until it gets that of the existing file. */
const PRIVATE_MODE = 0o600;
const PERMISSIONS = 0o7777;
const MAX_NAME_BYTES = 255;
/** Links followed in one path; the limit of the kernel. */
const MAX_LINKS = 40;

export interface WriteFileOptions extends LinkOptions {
	/** Readers see either the old content or the new one, whatever fails. */
	readonly atomic?: boolean;
}

/** Content of a file, in one piece of memory or in several that follow each other. */
export type WrittenContent = Uint8Array | readonly Uint8Array[];

/** Creates a file or replaces its content; keeps the mode of an existing one. */
export async function writeContent(path: BytePath, content: WrittenContent, options: WriteFileOptions): Promise<void> {
	const isSmall = content instanceof Uint8Array && content.length <= MAX_SYNC_BYTES;
	const calls = isSmall ? preferredCalls(path) : asyncCalls;
	if (options.atomic) {
		await replaceAtomically(path, content, options);
		return;
	}
	const {fd} = await openToReplace(calls, path, options);
	try {
		await writeAll(calls, fd, content, null);
	} finally {
		await calls.close(fd);
	}
}

/** Repeats short writes until everything is written, at the offset or, if that is null, at the current position. */
export async function writeAll(
	calls: FileCalls,
	fd: number,
	content: WrittenContent,
	offset: number | null,
): Promise<void> {
	if (!(content instanceof Uint8Array)) {
		await writePieces(calls, fd, content, offset);
		return;
	}
	for (let written = 0; written < content.length; ) {
		const rest = written === 0 ? content : content.subarray(written);
		written += await calls.write(fd, rest, offset === null ? null : offset + written);
	}
}

async function writePieces(
	calls: FileCalls,
	fd: number,
	pieces: readonly Uint8Array[],
	offset: number | null,
): Promise<void> {
	let rest = pieces;
	for (let written = 0; rest.length > 0; ) {
		const length = await calls.writev(fd, rest, offset === null ? null : offset + written);
		written += length;
		rest = dropBytes(rest, length);
	}
}

/** The pieces without their first bytes, and without empty ones in front. */
function dropBytes(pieces: readonly Uint8Array[], count: number): readonly Uint8Array[] {
	let index = 0;
	let left = count;
	while (index < pieces.length && left >= pieces[index]!.length) left -= pieces[index++]!.length;
	const [first, ...others] = pieces.slice(index);
	return first ? [first.subarray(left), ...others] : [];
}

/** Writes and syncs a temporary file, then renames it over the target. A failure leaves the target unchanged. */
export async function replaceAtomically(path: BytePath, content: WrittenContent, links: LinkOptions): Promise<void> {
	const calls = asyncCalls;
	if (followsLinks(links)) await replace(calls, await resolveTarget(calls, path), content);
	else await withEntryBelow(calls, path, links.root, entry => replace(calls, entry, content));
}

async function replace(calls: FileCalls, path: BytePath, content: WrittenContent): Promise<void> {
	const existing = await requireReplaceable(calls, path);
	const temporary = joinPath(parentPath(path), createTemporaryName(baseName(path)));
	const fd = await calls.open(temporary, CREATE, existing ? PRIVATE_MODE : NEW_FILE_MODE);
	try {
		try {
			await writeAll(calls, fd, content, null);
			if (existing) await copyOwnerAndMode(calls, fd, existing);
			await calls.sync(fd);
		} finally {
			await calls.close(fd);
		}
		await calls.rename(temporary, path);
	} catch (error) {
		await calls.unlink(temporary);
		throw error;
	}
	await syncDirectory(calls, parentPath(path));
}

/** Stats of the existing file; undefined if there is none. Throws for files a plain write could not write to. */
async function requireReplaceable(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	const stats = await lstatIfExists(calls, path);
	if (!stats) return undefined;
	if (stats.isSymbolicLink()) throw systemError('ELOOP');
	if (stats.isDirectory()) throw systemError('EISDIR');
	if (!stats.isFile()) throw refusedError('path is not a regular file');
	await calls.access(path, constants.W_OK);
	return stats;
}

async function copyOwnerAndMode(calls: FileCalls, fd: number, {mode, uid, gid}: Stats): Promise<void> {
	const created = await calls.fstat(fd);
	// Only root can change the owner, and for root the owner is part of what must not change.
	if (created.uid !== uid || created.gid !== gid) await calls.chown(fd, uid, gid);
	await calls.chmod(fd, mode & PERMISSIONS);
}

/** Resolves the links of a path, also a dangling one at the end: a write creates its target and keeps the links. */
async function resolveTarget(calls: FileCalls, path: BytePath, depth = 0): Promise<BytePath> {
	try {
		return await calls.realpath(path);
	} catch (error) {
		if (!isErrno(error, 'ENOENT')) throw error;
	}
	const entry = joinPath(await calls.realpath(parentPath(path)), baseName(path));
	const link = await readLinkIfAny(calls, entry);
	if (link === undefined) return entry;
	if (depth === MAX_LINKS) throw systemError('ELOOP');
	return resolveTarget(calls, link.startsWith('/') ? (link as BytePath) : joinPath(parentPath(entry), link), depth + 1);
}

async function readLinkIfAny(calls: FileCalls, path: BytePath): Promise<string | undefined> {
	try {
		return await calls.readlink(path);
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'EINVAL')) return undefined;
		throw error;
	}
}

function createTemporaryName(name: string): string {
	const suffix = `.${randomBytes(6).toString('hex')}.tmp`;
	return `.${name.slice(0, MAX_NAME_BYTES - suffix.length - 1)}${suffix}`;
}
