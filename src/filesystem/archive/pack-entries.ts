import {once} from 'node:events';
import {constants, type Stats} from 'node:fs';
import type {Writable} from 'node:stream';
import type {Pack} from 'tar-stream';
import type {BytePath} from '../byte-path.js';
import type {FileCalls} from '../syscalls.js';
import type {EntryErrors} from './entry-errors.js';
import {FileContent} from './file-content.js';
import {LinkedFiles} from './linked-files.js';
import {type TarHeader, tarHeader} from './tar-header.js';
import type {Visit} from './walk-tree.js';

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
const BLOCK_BYTES = 256 * 1024;
/** The stream between us and the reader never says that it is full: the reader empties it before each step. */
export const PACK_BUFFER_BYTES = 4 * BLOCK_BYTES;

/**
 * Puts a tree into a tar stream, one step at a time: what a step put there has to be taken before the next one, since
 * the memory is used again.
 */
export class EntryPacker {
	entries = 0;
	bytes = 0;
	readonly #calls: FileCalls;
	readonly #pack: Pack;
	readonly #entryErrors: EntryErrors;
	readonly #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
	readonly #linked = new LinkedFiles();

	constructor(calls: FileCalls, pack: Pack, entryErrors: EntryErrors) {
		this.#calls = calls;
		this.#pack = pack;
		this.#entryErrors = entryErrors;
	}

	async *steps(visits: AsyncIterable<Visit>): AsyncGenerator<void, void, void> {
		for await (const visit of visits) {
			if (visit.kind === 'failed') this.#entryErrors.add(visit.name, visit.error);
			else yield* this.#add(visit.name, visit.place, visit.stats);
		}
		this.#pack.finalize();
		yield;
	}

	async *#add(name: string, place: BytePath, stats: Stats): AsyncGenerator<void, void, void> {
		if (stats.isDirectory()) {
			await this.#addEntry(tarHeader(name, stats, {type: 'directory'}));
			yield;
		} else if (stats.isSymbolicLink()) {
			const target = await this.#attempt(name, () => this.#calls.readlink(place));
			if (target === undefined) return;
			await this.#addEntry(tarHeader(name, stats, {type: 'symlink', target}));
			yield;
		} else if (stats.isFile()) {
			yield* this.#addFile(name, place);
		} else {
			this.#entryErrors.add(name, 'special files are not taken along');
		}
	}

	async *#addFile(name: string, place: BytePath): AsyncGenerator<void, void, void> {
		const fd = await this.#attempt(name, () => this.#calls.open(place, READ));
		if (fd === undefined) return;
		try {
			const stats = await this.#calls.fstat(fd);
			const first = this.#linked.nameOf(name, stats);
			if (!stats.isFile()) {
				this.#entryErrors.add(name, 'changed its kind while it was looked at');
			} else if (first === undefined) {
				yield* this.#addContent(name, fd, stats);
			} else {
				await this.#addEntry(tarHeader(name, stats, {type: 'link', target: first}));
				yield;
			}
		} finally {
			await this.#calls.close(fd);
		}
	}

	async *#addContent(name: string, fd: number, stats: Stats): AsyncGenerator<void, void, void> {
		const {size} = stats;
		const header = tarHeader(name, stats, {type: 'file', size});
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
		const {sink, added} = this.#begin(header);
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
		await this.#begin(header, content).added;
		this.entries++;
	}

	#begin(header: TarHeader, content?: Buffer): {sink: Writable; added: Promise<void>} {
		const {promise, settle} = pending();
		return {sink: this.#pack.entry(header, content, settle), added: promise};
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

function pending(): {promise: Promise<void>; settle: (error?: Error | null) => void} {
	let settle!: (error?: Error | null) => void;
	const promise = new Promise<void>((resolve, reject) => {
		settle = error => (error ? reject(error) : resolve());
	});
	// Nobody waits for an entry any more when the stream is destroyed in the middle of it.
	promise.catch(() => {});
	return {promise, settle};
}
