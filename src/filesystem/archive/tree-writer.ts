import {constants, type Stats} from 'node:fs';
import {partialFileName, uniquePartialFileName} from '../../shared/partial-file-name.js';
import {type BytePath, joinPath} from '../byte-path.js';
import {isErrno, refusedError, systemError} from '../file-errors.js';
import {MAX_SYNC_BYTES} from '../read-file.js';
import {SyncQueue} from '../sync.js';
import {asyncCalls, type FileCalls} from '../syscalls.js';
import {writeAll} from '../write-file.js';
import {DeferredDirectoryAttributes} from './deferred-directory-attributes.js';
import {DirectoryChain} from './directory-chain.js';
import type {ArchiveEntry, Attributes} from './tar-entry.js';
import {damagedError, type EntryErrors} from './transfer-outcome.js';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Mode of a file until it is complete. */
const PRIVATE_MODE = 0o600;
const DIRECTORY_MODE = 0o777;
/** Permissions a directory needs until its content is complete. */
const OWNER_MODE = 0o700;

type EntryOf<K extends ArchiveEntry['kind']> = ArchiveEntry & {readonly kind: K};

interface CreatedFile {
	readonly path: BytePath;
	readonly fd: number;
}

/** Creates files, directories and links below a root, and touches nothing outside of it. One entry at a time. */
export class TreeWriter {
	entries = 0;
	bytes = 0;
	readonly #calls: FileCalls;
	readonly #chain: DirectoryChain;
	readonly #entryErrors: EntryErrors;
	readonly #overwrite: boolean;
	readonly #partial: boolean;
	/** Files that wait for the disk, all in the current directory. */
	readonly #syncs: SyncQueue | undefined;
	#currentDirectory = '';
	readonly #deferredAttributes = new DeferredDirectoryAttributes();
	/** Second cursor, for the targets of hard links: the first one stays at the current directory. */
	#linkChain: DirectoryChain | undefined;

	constructor(calls: FileCalls, chain: DirectoryChain, entryErrors: EntryErrors, options: TreeWriterOptions) {
		this.#calls = calls;
		this.#chain = chain;
		this.#entryErrors = entryErrors;
		this.#overwrite = options.overwrite;
		this.#partial = options.partial;
		this.#syncs = options.sync ? new SyncQueue() : undefined;
		if (options.isNew) this.#deferAttributes([]);
	}

	async add(entry: ArchiveEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
		switch (entry.kind) {
			case 'directory':
				await this.#addDirectory(entry);
				break;
			case 'file':
				if (this.#partial) await this.#addFileAtomically(entry, content);
				else await this.#addFile(entry, content);
				break;
			case 'symlink':
				await this.#addSymlink(entry);
				break;
			case 'link':
				await this.#addLink(entry);
				break;
			case 'unsupported':
				this.#entryErrors.add(entry.names.join('/'), entry.reason);
				return;
		}
		this.entries++;
	}

	/** Waits until every file that was added has its name, or has failed. */
	async settle(): Promise<void> {
		await this.#syncs?.drain();
	}

	/** Sets modes and times of the directories. */
	async finish(): Promise<void> {
		await this.settle();
		await this.#deferredAttributes.apply(this.#calls, this.#chain, this.#entryErrors);
	}

	async close(): Promise<void> {
		await this.settle();
		await this.#chain.close();
		await this.#linkChain?.close();
	}

	async #addDirectory({names, attributes}: EntryOf<'directory'>): Promise<void> {
		if (names.length === 0) {
			this.#deferredAttributes.update(names, attributes);
			return;
		}
		const path = await this.#enterParent(names);
		const make = () => this.#calls.mkdir(path, attributes.mode | OWNER_MODE);
		try {
			await make();
		} catch (error) {
			if (!isErrno(error, 'EEXIST')) throw error;
			if ((await this.#calls.lstat(path)).isDirectory()) {
				this.#deferredAttributes.update(names, attributes);
				return;
			}
			await this.#removeExisting(path);
			await make();
		}
		this.#deferAttributes(names, attributes);
	}

	/** Not for a part of a tree: the other parts may add to the directory. */
	#deferAttributes(names: readonly string[], attributes?: Attributes): void {
		if (!this.#partial) this.#deferredAttributes.add(names, attributes);
	}

	/** Writes a temporary file and renames it. On failure the content is drained, so that the next entry can be read. */
	async #addFileAtomically(entry: EntryOf<'file'>, content: AsyncIterable<Uint8Array>): Promise<void> {
		const chunks = content[Symbol.asyncIterator]();
		try {
			const path = await this.#enterParent(entry.names);
			const temporary = await this.#createTemporary(entry.names.at(-1)!);
			// Without return(): the stream must not be destroyed when the loop is left early.
			const resumable = {[Symbol.asyncIterator]: () => ({next: () => chunks.next()})};
			const complete = () => this.#moveIntoPlace(temporary.path, path);
			if (this.#syncs) await this.#writeSynced(temporary, entry, resumable, {syncs: this.#syncs, complete});
			else await this.#writeFile(temporary, entry, resumable, complete);
		} catch (error) {
			if (entry.size > 0) while (!(await chunks.next()).done);
			throw error;
		}
	}

	/** Writes the file and goes on with the next one while the disk takes it; a failure of that is one of the entry. */
	async #writeSynced(
		{path, fd}: CreatedFile,
		entry: EntryOf<'file'>,
		content: AsyncIterable<Uint8Array>,
		{syncs, complete}: {syncs: SyncQueue; complete: () => Promise<void>},
	): Promise<void> {
		let written: Stats | undefined;
		try {
			written = await this.#calls.fstat(fd);
			await this.#fillFile(fd, entry, content);
		} catch (error) {
			await this.#calls.close(fd);
			await this.#discard(path, written);
			throw error;
		}
		const created = written;
		await syncs.add(partialFileName(entry.names.at(-1)!), async () => {
			try {
				try {
					await asyncCalls.sync(fd);
				} finally {
					await this.#calls.close(fd);
				}
				// A transfer after a lost connection may have replaced it meanwhile, and has not finished its own.
				if (!isSameInode(await this.#calls.lstat(path), created)) throw systemError('ENOENT');
				await complete();
			} catch (error) {
				this.#entryErrors.add(entry.names.join('/'), error);
				await this.#discard(path, created);
			}
		});
	}

	async #moveIntoPlace(temporary: BytePath, path: BytePath): Promise<void> {
		if (this.#overwrite) {
			await this.#calls.rename(temporary, path);
			return;
		}
		await this.#calls.link(temporary, path);
		await this.#calls.unlink(temporary);
	}

	async #addFile(entry: EntryOf<'file'>, content: AsyncIterable<Uint8Array>): Promise<void> {
		const path = await this.#enterParent(entry.names);
		await this.#writeFile({path, fd: await this.#createAt(path, () => this.#createFile(path))}, entry, content);
	}

	async #writeFile(
		{path, fd}: CreatedFile,
		entry: EntryOf<'file'>,
		content: AsyncIterable<Uint8Array>,
		complete?: () => Promise<void>,
	): Promise<void> {
		let written: Stats | undefined;
		try {
			try {
				await this.#fillFile(fd, entry, content);
			} catch (error) {
				written = await this.#calls.fstat(fd);
				throw error;
			} finally {
				await this.#calls.close(fd);
			}
			await complete?.();
		} catch (error) {
			await this.#discard(path, written);
			throw error;
		}
	}

	async #fillFile(
		fd: number,
		{names, size, attributes}: EntryOf<'file'>,
		content: AsyncIterable<Uint8Array>,
	): Promise<void> {
		await this.#writeFileContent(fd, size, content);
		await this.#trySetAttributes(names, async () => {
			await this.#calls.chmod(fd, attributes.mode);
			if (attributes.mtimeMs !== undefined) await this.#calls.setTime(fd, attributes.mtimeMs);
		});
	}

	/** Removes the incomplete file, unless another transfer has replaced it, for example after a lost connection. */
	async #discard(path: BytePath, written: Stats | undefined): Promise<void> {
		try {
			const existing = await this.#calls.lstat(path);
			if (written === undefined || isSameInode(existing, written)) await this.#calls.unlink(path);
		} catch {
			// Removed already, or the removal failed: the original error is the one to report.
		}
	}

	async #writeFileContent(fd: number, size: number, content: AsyncIterable<Uint8Array>): Promise<void> {
		let length = 0;
		if (size > 0) {
			for await (const chunk of content) {
				await writeAll(chunk.length < MAX_SYNC_BYTES ? this.#calls : asyncCalls, fd, chunk, null);
				length += chunk.length;
				this.bytes += chunk.length;
			}
		}
		if (length !== size) throw damagedError('a file of the archive is cut off');
	}

	async #addSymlink({names, target, attributes: {mtimeMs}}: EntryOf<'symlink'>): Promise<void> {
		const path = await this.#enterParent(names);
		await this.#createAt(path, () => this.#calls.symlink(target, path));
		if (mtimeMs !== undefined) await this.#trySetAttributes(names, async () => this.#calls.setLinkTime(path, mtimeMs));
	}

	async #addLink({names, target}: EntryOf<'link'>): Promise<void> {
		await this.settle();
		const existing = await this.#findLinkTarget(target);
		const path = await this.#enterParent(names);
		if (await this.#isSameFile(existing, path)) return;
		await this.#createAt(path, () => this.#calls.link(existing, path));
	}

	/** Path of a regular file of the tree, reached without symbolic links. */
	async #findLinkTarget(target: readonly string[]): Promise<BytePath> {
		this.#linkChain ??= await DirectoryChain.open(this.#calls, this.#chain.root);
		const path = await enterParent(this.#linkChain, target);
		if ((await this.#calls.lstat(path)).isFile()) return path;
		throw refusedError('a hard link leads to something that is no file of the archive');
	}

	/** Replacing a file by a link to itself would remove it. */
	async #isSameFile(existing: BytePath, path: BytePath): Promise<boolean> {
		if (!this.#overwrite) return false;
		try {
			return isSameInode(await this.#calls.lstat(existing), await this.#calls.lstat(path));
		} catch (error) {
			if (isErrno(error, 'ENOENT')) return false;
			throw error;
		}
	}

	async #enterParent(names: readonly string[]): Promise<BytePath> {
		if (this.#syncs) await this.#settle(this.#syncs, names);
		if (this.#deferredAttributes.isFull)
			await this.#deferredAttributes.apply(this.#calls, this.#chain, this.#entryErrors, names);
		return enterParent(this.#chain, names, async (path, depth) => {
			await this.#calls.mkdir(path, DIRECTORY_MODE);
			this.#deferAttributes(names.slice(0, depth));
		});
	}

	/** Paths are valid while their directory is held, and an entry replaces the one of its name before it. */
	async #settle(syncs: SyncQueue, names: readonly string[]): Promise<void> {
		const directory = names.slice(0, -1).join('/');
		if (directory !== this.#currentDirectory) await syncs.drain();
		else await syncs.waitFor(partialFileName(names.at(-1)!));
		this.#currentDirectory = directory;
	}

	/** Creates an entry; removes an existing one first if overwriting is allowed. */
	async #createAt<T>(path: BytePath, make: () => T | Promise<T>): Promise<T> {
		try {
			return await make();
		} catch (error) {
			if (!isErrno(error, 'EEXIST')) throw error;
		}
		await this.#removeExisting(path);
		return make();
	}

	/** Creates a temporary file in the current directory; a leftover of a failed transfer is removed. */
	async #createTemporary(name: string): Promise<CreatedFile> {
		const path = joinPath(this.#chain.path, partialFileName(name));
		try {
			return {path, fd: await this.#createFile(path)};
		} catch (error) {
			if (!isErrno(error, 'EEXIST')) throw error;
		}
		try {
			await this.#calls.unlink(path);
			return {path, fd: await this.#createFile(path)};
		} catch (error) {
			// A file of another user, in a directory where everybody may remove only their own.
			if (!isErrno(error, 'EPERM', 'EACCES', 'EEXIST')) throw error;
			const other = joinPath(this.#chain.path, uniquePartialFileName(name));
			return {path: other, fd: await this.#createFile(other)};
		}
	}

	async #createFile(path: BytePath): Promise<number> {
		return this.#calls.open(path, CREATE, PRIVATE_MODE);
	}

	async #removeExisting(path: BytePath): Promise<void> {
		if (!this.#overwrite) throw systemError('EEXIST');
		if ((await this.#calls.lstat(path)).isDirectory()) throw systemError('EISDIR');
		await this.#calls.unlink(path);
	}

	/** Records a failure as an entry error: some file systems lack modes or times, and the content is complete. */
	async #trySetAttributes(names: readonly string[], set: () => Promise<void>): Promise<void> {
		try {
			await set();
		} catch (error) {
			this.#entryErrors.add(names.join('/'), error);
		}
	}
}

export interface TreeWriterOptions {
	/** Files and links replace existing entries, except directories. */
	readonly overwrite: boolean;
	/** Other streams add to the tree: directories stay writable, and files are created atomically. */
	readonly partial: boolean;
	/** Files of a part are synced before they get their names. */
	readonly sync: boolean;
	/** The root was created for the tree and gets its attributes. */
	readonly isNew: boolean;
}

function isSameInode(one: Stats, other: Stats): boolean {
	return one.dev === other.dev && one.ino === other.ino;
}

/** Moves to the directory of an entry; returns the path of the entry. */
async function enterParent(
	chain: DirectoryChain,
	names: readonly string[],
	make?: (path: BytePath, depth: number) => Promise<void>,
): Promise<BytePath> {
	const own = names.at(-1);
	if (own === undefined) throw refusedError('an entry has no name');
	try {
		await chain.goTo(names.slice(0, -1), make);
	} catch (error) {
		if (isErrno(error, 'ENOTDIR')) throw refusedError('the name leads through something that is no directory');
		throw error;
	}
	return joinPath(chain.path, own);
}
