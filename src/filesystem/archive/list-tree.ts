import type {Stats} from 'node:fs';
import {percentEncode} from '../../protocol/path-uri/path-uri-encoding.js';
import {Mutex} from '../../shared/async/mutex.js';
import {openChainBelow} from '../below-root.js';
import type {BytePath} from '../byte-path.js';
import {fileErrorMessage, isErrno, refusedError} from '../file-errors.js';
import type {BlockDevice, FileBlock} from '../file-handles.js';
import {statIfExists} from '../stat.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
import {parseRelativePath, parseRelativePaths} from './directory-chain.js';
import {PERMISSIONS} from './tar-header.js';
import {type Visit, visitNames, walkTree} from './walk-tree.js';

export interface ListTreeOptions {
	/** Levels below the path; all by default. */
	readonly depth?: number | undefined;
	/** Only these entries, as percent-encoded relative paths; missing ones are left out. */
	readonly names?: readonly string[] | undefined;
	/** Only entries behind this one, a percent-encoded relative path, in the order of the list; not with names. */
	readonly after?: string | undefined;
	/** The path has to be a directory below it, and is reached without links. */
	readonly root?: BytePath | undefined;
}

/** Lists the entries of a tree as JSON lines, parents first and by name; a link at the path itself is followed. */
export async function openTreeList(path: BytePath, options: ListTreeOptions = {}): Promise<BlockDevice> {
	const {depth, names, root} = options;
	const calls = preferredCalls(path);
	const after = options.after === undefined ? undefined : parseRelativePath(options.after);
	if (names && after) throw refusedError('`after` is for a list without names');
	if (names) {
		const paths = parseRelativePaths(names);
		const isDirectory = await isExistingDirectory(calls, path, root);
		return new TreeListDevice(calls, isDirectory ? skipMissing(visitNames(calls, path, paths, root)) : yieldNone());
	}
	if (root !== undefined) return new TreeListDevice(calls, walkTree(calls, path, {depth, root, after}));
	const stats = (await statIfExists(calls, path)) ?? (await calls.lstat(path));
	if (stats.isDirectory()) return new TreeListDevice(calls, walkTree(calls, path, {depth, after}));
	return new TreeListDevice(calls, yieldOne({kind: 'found', name: '', path, stats}));
}

/** Throws if something below the root is in the way. */
async function isExistingDirectory(calls: FileCalls, path: BytePath, root: BytePath | undefined): Promise<boolean> {
	if (root === undefined) return (await statIfExists(calls, path))?.isDirectory() === true;
	try {
		await (await openChainBelow(calls, path, root)).close();
		return true;
	} catch (error) {
		if (isErrno(error, 'ENOENT')) return false;
		throw error;
	}
}

async function* skipMissing(visits: AsyncIterable<Visit>): AsyncGenerator<Visit, void, void> {
	for await (const visit of visits) {
		if (visit.kind === 'found' || !isErrno(visit.error, 'ENOENT', 'ENOTDIR')) yield visit;
	}
}

async function* yieldOne(visit: Visit): AsyncGenerator<Visit, void, void> {
	yield visit;
}

async function* yieldNone(): AsyncGenerator<Visit, void, void> {}

/** Sequential device; visits entries lazily, as they are read. */
class TreeListDevice implements BlockDevice {
	readonly #calls: FileCalls;
	readonly #visits: AsyncGenerator<Visit, void, void>;
	readonly #mutex = new Mutex();
	#position = 0;
	#isRead = false;
	/** Rest of the last line, which did not fit into the block. */
	#rest: Buffer = Buffer.alloc(0);

	constructor(calls: FileCalls, visits: AsyncGenerator<Visit, void, void>) {
		this.#calls = calls;
		this.#visits = visits;
	}

	read(target: Uint8Array, offset: number): Promise<FileBlock> {
		return this.#mutex.run(async () => {
			if (this.#isRead && offset >= this.#position) return {length: 0, eof: true};
			if (offset !== this.#position) {
				throw refusedError(`a list is read from front to back: the next block is at ${this.#position}`);
			}
			const length = await this.#fill(target);
			this.#position += length;
			this.#isRead = length < target.length;
			return {length, eof: this.#isRead};
		});
	}

	close(): Promise<void> {
		return this.#mutex.run(async () => {
			await this.#visits.return();
		});
	}

	async #fill(target: Uint8Array): Promise<number> {
		let length = 0;
		while (length < target.length) {
			if (this.#rest.length === 0) {
				const next = await this.#visits.next();
				if (next.done) break;
				this.#rest = Buffer.from(`${JSON.stringify(await toListEntry(this.#calls, next.value))}\n`);
			}
			const copied = this.#rest.copy(target, length);
			this.#rest = this.#rest.subarray(copied);
			length += copied;
		}
		return length;
	}
}

async function toListEntry(calls: FileCalls, visit: Visit): Promise<object> {
	const name = percentEncode(visit.name);
	if (visit.kind === 'failed') return {name, error: fileErrorMessage(visit.error)};
	const {stats, path} = visit;
	const common = {
		name,
		kind: toEntryKind(stats),
		size: stats.size,
		mode: stats.mode & PERMISSIONS,
		modifiedAtMs: Math.floor(stats.mtimeMs),
	};
	if (!stats.isSymbolicLink()) return common;
	try {
		return {...common, target: percentEncode(await calls.readlink(path))};
	} catch (error) {
		return {name, error: fileErrorMessage(error)};
	}
}

function toEntryKind(stats: Stats): 'file' | 'directory' | 'symlink' | 'other' {
	if (stats.isFile()) return 'file';
	if (stats.isDirectory()) return 'directory';
	return stats.isSymbolicLink() ? 'symlink' : 'other';
}
