import {constants, type Stats} from 'node:fs';
import {partialFileName} from '../../shared/partial-file-name.js';
import {type BytePath, childOf} from '../byte-path.js';
import {isErrno, refused, systemError} from '../file-errors.js';
import {QUICK_BYTES} from '../read-file.js';
import {asyncCalls, type FileCalls} from '../syscalls.js';
import {writeAll} from '../write-file.js';
import {DeferredDirectoryAttributes} from './deferred-directory-attributes.js';
import {DirectoryChain} from './directory-chain.js';
import type {EntryErrors} from './entry-errors.js';
import {setLinkTime, setTime} from './file-times.js';
import type {ArchiveEntry, Attributes} from './tar-entry.js';
import {damaged} from './transfer-outcome.js';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Nobody else reads a file before it has its own mode. */
const PRIVATE_MODE = 0o600;
const DIRECTORY_MODE = 0o777;
/** What we need of a directory until everything is in it. */
const OWNER_MODE = 0o700;
const EEXIST = 17;
const EISDIR = 21;

type EntryOf<K extends ArchiveEntry['kind']> = ArchiveEntry & {readonly kind: K};

/** Makes files, directories and links below a root; nothing outside of it is ever touched. One entry at a time. */
export class TreeWriter {
	entries = 0;
	bytes = 0;
	readonly #calls: FileCalls;
	readonly #chain: DirectoryChain;
	readonly #entryErrors: EntryErrors;
	readonly #overwrite: boolean;
	readonly #partial: boolean;
	readonly #made = new DeferredDirectoryAttributes();
	/** Goes to the files that get a second name, so that the way to the first place is not lost. */
	#linkChain: DirectoryChain | undefined;

	constructor(calls: FileCalls, chain: DirectoryChain, entryErrors: EntryErrors, options: TreeWriterOptions) {
		this.#calls = calls;
		this.#chain = chain;
		this.#entryErrors = entryErrors;
		this.#overwrite = options.overwrite;
		this.#partial = options.partial;
		if (options.isNew) this.#remember([]);
	}

	async add(entry: ArchiveEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
		switch (entry.kind) {
			case 'directory':
				await this.#addDirectory(entry);
				break;
			case 'file':
				if (this.#partial) await this.#addFileAside(entry, content);
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

	/** Gives the directories their modes and times. */
	async finish(): Promise<void> {
		await this.#made.settle(this.#calls, this.#chain, this.#entryErrors);
	}

	async close(): Promise<void> {
		await this.#chain.close();
		await this.#linkChain?.close();
	}

	async #addDirectory({names, attributes}: EntryOf<'directory'>): Promise<void> {
		if (names.length === 0) {
			this.#made.describe(names, attributes);
			return;
		}
		const place = await this.#enterParent(names);
		const make = () => this.#calls.mkdir(place, attributes.mode | OWNER_MODE);
		try {
			await make();
		} catch (error) {
			if (!isErrno(error, 'EEXIST')) throw error;
			if ((await this.#calls.lstat(place)).isDirectory()) {
				this.#made.describe(names, attributes);
				return;
			}
			await this.#vacate(place);
			await make();
		}
		this.#remember(names, attributes);
	}

	/** Of a part of a tree nobody here knows when a directory has all its content. */
	#remember(names: readonly string[], attributes?: Attributes): void {
		if (!this.#partial) this.#made.add(names, attributes);
	}

	/** Beside its place first, and then there in one step. Whatever fails, the content is used up for the next entry. */
	async #addFileAside(entry: EntryOf<'file'>, content: AsyncIterable<Uint8Array>): Promise<void> {
		const chunks = content[Symbol.asyncIterator]();
		try {
			const place = await this.#enterParent(entry.names);
			const aside = childOf(this.#chain.place, partialFileName(entry.names.at(-1)!));
			// Without a way to return: the stream is not to be destroyed when it is left in the middle.
			const kept = {[Symbol.asyncIterator]: () => ({next: () => chunks.next()})};
			await this.#writeFile(aside, entry, kept, () => this.#put(aside, place));
		} catch (error) {
			if (entry.size > 0) while (!(await chunks.next()).done);
			throw error;
		}
	}

	async #put(aside: BytePath, place: BytePath): Promise<void> {
		if (this.#overwrite) {
			await this.#calls.rename(aside, place);
			return;
		}
		await this.#calls.link(aside, place);
		await this.#calls.unlink(aside);
	}

	async #addFile(entry: EntryOf<'file'>, content: AsyncIterable<Uint8Array>): Promise<void> {
		await this.#writeFile(await this.#enterParent(entry.names), entry, content);
	}

	async #writeFile(
		place: BytePath,
		{names, size, attributes}: EntryOf<'file'>,
		content: AsyncIterable<Uint8Array>,
		complete?: () => Promise<void>,
	): Promise<void> {
		const open = () => this.#calls.open(place, CREATE, PRIVATE_MODE);
		const fd = await (complete ? this.#occupyAside(place, open) : this.#occupy(place, open));
		let written: Stats | undefined;
		try {
			try {
				await this.#write(fd, size, content);
				await this.#describe(names, async () => {
					await this.#calls.chmod(fd, attributes.mode);
					if (attributes.mtimeMs !== undefined) await setTime(fd, attributes.mtimeMs);
				});
			} catch (error) {
				written = await this.#calls.fstat(fd);
				throw error;
			} finally {
				await this.#calls.close(fd);
			}
			await complete?.();
		} catch (error) {
			await this.#discard(place, written);
			throw error;
		}
	}

	/** Another transfer may have taken the name meanwhile, after a lost link say: what it made there stays. */
	async #discard(place: BytePath, written: Stats | undefined): Promise<void> {
		try {
			const {dev, ino} = await this.#calls.lstat(place);
			const isOurs = written === undefined || (dev === written.dev && ino === written.ino);
			if (isOurs) await this.#calls.unlink(place);
		} catch {
			// Gone already: no news beside the reason for removing it.
		}
	}

	async #write(fd: number, size: number, content: AsyncIterable<Uint8Array>): Promise<void> {
		let length = 0;
		if (size > 0) {
			for await (const chunk of content) {
				await writeAll(chunk.length < QUICK_BYTES ? this.#calls : asyncCalls, fd, chunk, null);
				length += chunk.length;
				this.bytes += chunk.length;
			}
		}
		if (length !== size) throw damaged('a file of the archive is cut off');
	}

	async #addSymlink({names, target, attributes: {mtimeMs}}: EntryOf<'symlink'>): Promise<void> {
		const place = await this.#enterParent(names);
		await this.#occupy(place, () => this.#calls.symlink(target, place));
		if (mtimeMs !== undefined) await this.#describe(names, () => setLinkTime(place, mtimeMs));
	}

	async #addLink({names, target}: EntryOf<'link'>): Promise<void> {
		const existing = await this.#findLinked(target);
		const place = await this.#enterParent(names);
		if (await this.#isSame(existing, place)) return;
		await this.#occupy(place, () => this.#calls.link(existing, place));
	}

	/** A regular file of the tree, reached without a link. */
	async #findLinked(target: readonly string[]): Promise<BytePath> {
		this.#linkChain ??= await DirectoryChain.open(this.#calls, this.#chain.root);
		const place = await enterParent(this.#linkChain, target);
		if ((await this.#calls.lstat(place)).isFile()) return place;
		throw refused('a hard link leads to something that is no file of the archive');
	}

	/** To put a file in its own place would be to remove it. */
	async #isSame(existing: BytePath, place: BytePath): Promise<boolean> {
		if (!this.#overwrite) return false;
		try {
			const [one, other] = [await this.#calls.lstat(existing), await this.#calls.lstat(place)];
			return one.dev === other.dev && one.ino === other.ino;
		} catch (error) {
			if (isErrno(error, 'ENOENT')) return false;
			throw error;
		}
	}

	async #enterParent(names: readonly string[]): Promise<BytePath> {
		if (this.#made.isCrowded) await this.#made.settle(this.#calls, this.#chain, this.#entryErrors, names);
		return enterParent(this.#chain, names, async (place, depth) => {
			await this.#calls.mkdir(place, DIRECTORY_MODE);
			this.#remember(names.slice(0, depth));
		});
	}

	/** Makes something in a place, which is cleared first if that is allowed and necessary. */
	async #occupy<T>(place: BytePath, make: () => T | Promise<T>): Promise<T> {
		try {
			return await make();
		} catch (error) {
			if (!isErrno(error, 'EEXIST')) throw error;
		}
		await this.#vacate(place);
		return make();
	}

	/** What was left there by one that did not end well is nobody's. */
	async #occupyAside<T>(place: BytePath, make: () => T | Promise<T>): Promise<T> {
		try {
			return await make();
		} catch (error) {
			if (!isErrno(error, 'EEXIST')) throw error;
		}
		await this.#calls.unlink(place);
		return make();
	}

	async #vacate(place: BytePath): Promise<void> {
		if (!this.#overwrite) throw systemError('EEXIST', EEXIST);
		if ((await this.#calls.lstat(place)).isDirectory()) throw systemError('EISDIR', EISDIR);
		await this.#calls.unlink(place);
	}

	/** Some file systems know no modes or times; the content is there all the same. */
	async #describe(names: readonly string[], set: () => Promise<void>): Promise<void> {
		try {
			await set();
		} catch (error) {
			this.#entryErrors.add(names.join('/'), error);
		}
	}
}

export interface TreeWriterOptions {
	/** Whether what stands in the way of a file or a link is removed, unless it is a directory. */
	readonly overwrite: boolean;
	/** More of the tree comes in other streams: directories stay writable, and files are put in their place whole. */
	readonly partial: boolean;
	/** The root was made for the tree, and is described by it. */
	readonly isNew: boolean;
}

/** Goes to the directory of an entry; where the entry is to be. */
async function enterParent(
	chain: DirectoryChain,
	names: readonly string[],
	make?: (place: BytePath, depth: number) => Promise<void>,
): Promise<BytePath> {
	const own = names.at(-1);
	if (own === undefined) throw refused('an entry has no name');
	try {
		await chain.goTo(names.slice(0, -1), make);
	} catch (error) {
		if (isErrno(error, 'ENOTDIR')) throw refused('the name leads through something that is no directory');
		throw error;
	}
	return childOf(chain.place, own);
}
