import {once} from 'node:events';
import {constants, type Stats} from 'node:fs';
import type {Writable} from 'node:stream';
import type {Pack} from 'tar-stream';
import {Deferred} from '../../shared/async/deferred.js';
import type {BytePath} from '../byte-path.js';
import {MAX_SYNC_BYTES} from '../read-file.js';
import type {FileCalls} from '../syscalls.js';
import {asyncCalls} from '../syscalls.js';
import {createTarHeader, type TarHeader} from './tar-header.js';
import type {EntryErrors} from './transfer-outcome.js';
import type {Visit} from './walk-tree.js';

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
const BLOCK_BYTES = 256 * 1024;
/** High-water mark of the tar stream, never reached: the reader empties the stream before each step. */
export const PACK_BUFFER_BYTES = 4 * BLOCK_BYTES;
/** Files beyond this number are packed once under each of their names. */
const MAX_HARD_LINKED_FILES = 200_000;

/**
 * Writes a tree into a tar stream, one step at a time: the output of a step has to be read before the next one, which
 * reuses its buffer.
 */
export class EntryPacker {
	entries = 0;
	bytes = 0;
	readonly #calls: FileCalls;
	readonly #pack: Pack;
	readonly #entryErrors: EntryErrors;
	readonly #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
	readonly #hardLinks = new HardLinks();

	constructor(calls: FileCalls, pack: Pack, entryErrors: EntryErrors) {
		this.#calls = calls;
		this.#pack = pack;
		this.#entryErrors = entryErrors;
	}

	async *pack(visits: AsyncIterable<Visit>): AsyncGenerator<void, void, void> {
		for await (const visit of visits) {
			if (visit.kind === 'failed') this.#entryErrors.add(visit.name, visit.error);
			else yield* this.#add(visit.name, visit.path, visit.stats);
		}
		this.#pack.finalize();
		yield;
	}

	async *#add(name: string, path: BytePath, stats: Stats): AsyncGenerator<void, void, void> {
		if (stats.isDirectory()) {
			await this.#addEntry(createTarHeader(name, stats, {type: 'directory'}));
			yield;
		} else if (stats.isSymbolicLink()) {
			const target = await this.#attempt(name, () => this.#calls.readlink(path));
			if (target === undefined) return;
			await this.#addEntry(createTarHeader(name, stats, {type: 'symlink', target}));
			yield;
		} else if (stats.isFile()) {
			yield* this.#addFile(name, path);
		} else {
			this.#entryErrors.add(name, 'special files are not taken along');
		}
	}

	async *#addFile(name: string, path: BytePath): AsyncGenerator<void, void, void> {
		const fd = await this.#attempt(name, () => this.#calls.open(path, READ));
		if (fd === undefined) return;
		try {
			const stats = await this.#attempt(name, () => this.#calls.fstat(fd));
			if (!stats) return;
			const first = this.#hardLinks.findFirstName(name, stats);
			if (!stats.isFile()) {
				this.#entryErrors.add(name, 'changed its kind while it was looked at');
			} else if (first === undefined) {
				yield* this.#addContent(name, fd, stats);
			} else {
				await this.#addEntry(createTarHeader(name, stats, {type: 'link', target: first}));
				yield;
			}
		} finally {
			await this.#calls.close(fd);
		}
	}

	async *#addContent(name: string, fd: number, stats: Stats): AsyncGenerator<void, void, void> {
		const {size} = stats;
		const header = createTarHeader(name, stats, {type: 'file', size});
		const content = new FileContent(this.#calls, fd, reason => this.#entryErrors.add(name, reason));
		if (size > BLOCK_BYTES) {
			yield* this.#addBlocks(header, size, content);
			return;
		}
		const block = this.#block.subarray(0, size);
		await content.fill(block);
		await this.#addEntry(header, block);
		this.bytes += size;
		yield;
	}

	async *#addBlocks(header: TarHeader, size: number, content: FileContent): AsyncGenerator<void, void, void> {
		const {sink, added} = this.#startEntry(header);
		for (let rest = size; rest > 0; ) {
			const block = this.#block.subarray(0, Math.min(BLOCK_BYTES, rest));
			await content.fill(block);
			rest -= block.length;
			const isTaken = sink.write(block);
			if (rest === 0) {
				sink.end();
				await added;
				this.entries++;
			} else if (!isTaken) {
				await once(sink, 'drain');
			}
			this.bytes += block.length;
			yield;
		}
	}

	async #addEntry(header: TarHeader, content?: Buffer): Promise<void> {
		await this.#startEntry(header, content).added;
		this.entries++;
	}

	#startEntry(header: TarHeader, content?: Buffer): {sink: Writable; added: Promise<void>} {
		const added = new Deferred();
		// The stream may be destroyed in the middle of an entry, when nothing waits for this promise.
		added.promise.catch(() => {});
		const settle = (error?: Error | null): void => (error ? added.reject(error) : added.resolve());
		return {sink: this.#pack.entry(header, content, settle), added: added.promise};
	}

	async #attempt<T>(name: string, call: () => T | Promise<T>): Promise<T | undefined> {
		try {
			return await call();
		} catch (error) {
			this.#entryErrors.add(name, error);
			return undefined;
		}
	}
}

/** Hard-linked files of a tree, by inode, with the name under which each was seen first. */
export class HardLinks {
	readonly #names = new Map<string, string>();

	/** Name under which the file was seen before; undefined the first time. */
	findFirstName(name: string, {dev, ino, nlink}: Stats): string | undefined {
		// An inode number that was rounded may belong to two files.
		if (nlink < 2 || !Number.isSafeInteger(ino)) return undefined;
		const identity = `${dev}:${ino}`;
		const first = this.#names.get(identity);
		if (first === undefined && this.#names.size < MAX_HARD_LINKED_FILES) this.#names.set(identity, name);
		return first;
	}
}

/** Sequential reader that always fills the block, since a tar header announces the size: missing bytes become zeros. */
export class FileContent {
	readonly #calls: FileCalls;
	readonly #fd: number;
	readonly #onMissing: (reason: unknown) => void;
	#offset = 0;
	#isMissing = false;

	/** `onMissing` is called once, at the first missing byte. */
	constructor(calls: FileCalls, fd: number, onMissing: (reason: unknown) => void) {
		this.#calls = calls;
		this.#fd = fd;
		this.#onMissing = onMissing;
	}

	async fill(block: Buffer): Promise<void> {
		const calls = block.length < MAX_SYNC_BYTES ? this.#calls : asyncCalls;
		let length = 0;
		while (length < block.length && !this.#isMissing) {
			const got = await this.#read(calls, block.subarray(length));
			length += got;
			this.#offset += got;
		}
		block.fill(0, length);
	}

	async #read(calls: FileCalls, target: Buffer): Promise<number> {
		try {
			const got = await calls.read(this.#fd, target, this.#offset);
			if (got === 0) this.#reportMissing('shrank while it was read; zeros stand for what is missing');
			return got;
		} catch (error) {
			this.#reportMissing(error);
			return 0;
		}
	}

	#reportMissing(reason: unknown): void {
		this.#isMissing = true;
		this.#onMissing(reason);
	}
}
