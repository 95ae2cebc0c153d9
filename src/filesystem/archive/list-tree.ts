import type {Stats} from 'node:fs';
import {percentEncode} from '../../protocol/path-uri/path-uri-encoding.js';
import type {BytePath} from '../byte-path.js';
import {fileErrorMessage, isErrno, refused} from '../file-errors.js';
import type {BlockDevice, FileBlock} from '../file-handles.js';
import {statIfExists} from '../stat.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
import {parseRelativePaths} from './relative-path.js';
import {PERMISSIONS} from './tar-header.js';
import {Turns} from './transfer-outcome.js';
import {type Visit, visitNames, walkTree} from './walk-tree.js';

export interface ListTreeOptions {
	/** How many levels below the path; all unless told otherwise. */
	readonly depth?: number | undefined;
	/** Only these entries, by the way to them; those that are missing are left out. Percent-encoded. */
	readonly names?: readonly string[] | undefined;
}

/** The entries of a tree, parents first and by name, as lines of JSON; a link at the path itself is followed. */
export async function listTree(path: BytePath, {depth, names}: ListTreeOptions = {}): Promise<BlockDevice> {
	const calls = preferredCalls();
	if (names) {
		const ways = parseRelativePaths(names);
		const isThere = (await statIfExists(calls, path))?.isDirectory() === true;
		return new ListedTree(calls, isThere ? present(visitNames(calls, path, ways)) : nothing());
	}
	const stats = (await statIfExists(calls, path)) ?? (await calls.lstat(path));
	if (stats.isDirectory()) return new ListedTree(calls, walkTree(calls, path, depth));
	return new ListedTree(calls, only({kind: 'found', name: '', place: path, stats}));
}

async function* present(visits: AsyncIterable<Visit>): AsyncGenerator<Visit, void, void> {
	for await (const visit of visits) {
		if (visit.kind === 'found' || !isErrno(visit.error, 'ENOENT', 'ENOTDIR')) yield visit;
	}
}

async function* only(visit: Visit): AsyncGenerator<Visit, void, void> {
	yield visit;
}

async function* nothing(): AsyncGenerator<Visit, void, void> {}

/** Read from front to back; nothing is looked at before it is asked for. */
class ListedTree implements BlockDevice {
	readonly #calls: FileCalls;
	readonly #visits: AsyncGenerator<Visit, void, void>;
	readonly #turns = new Turns();
	#position = 0;
	#isRead = false;
	/** What the last line has left over. */
	#rest: Buffer = Buffer.alloc(0);

	constructor(calls: FileCalls, visits: AsyncGenerator<Visit, void, void>) {
		this.#calls = calls;
		this.#visits = visits;
	}

	read(target: Uint8Array, offset: number): Promise<FileBlock> {
		return this.#turns.take(async () => {
			if (this.#isRead && offset >= this.#position) return {length: 0, eof: true};
			if (offset !== this.#position) {
				throw refused(`a list is read from front to back: the next block is at ${this.#position}`);
			}
			const length = await this.#fill(target);
			this.#position += length;
			this.#isRead = length < target.length;
			return {length, eof: this.#isRead};
		});
	}

	close(): Promise<void> {
		return this.#turns.take(async () => {
			await this.#visits.return();
		});
	}

	async #fill(target: Uint8Array): Promise<number> {
		let length = 0;
		while (length < target.length) {
			if (this.#rest.length === 0) {
				const next = await this.#visits.next();
				if (next.done) break;
				this.#rest = Buffer.from(`${JSON.stringify(await describe(this.#calls, next.value))}\n`);
			}
			const copied = this.#rest.copy(target, length);
			this.#rest = this.#rest.subarray(copied);
			length += copied;
		}
		return length;
	}
}

async function describe(calls: FileCalls, visit: Visit): Promise<object> {
	const name = percentEncode(visit.name);
	if (visit.kind === 'failed') return {name, error: fileErrorMessage(visit.error)};
	const {stats, place} = visit;
	const common = {
		name,
		kind: kindOf(stats),
		size: stats.size,
		mode: stats.mode & PERMISSIONS,
		modifiedAtMs: Math.floor(stats.mtimeMs),
	};
	if (!stats.isSymbolicLink()) return common;
	try {
		return {...common, target: percentEncode(await calls.readlink(place))};
	} catch (error) {
		return {name, error: fileErrorMessage(error)};
	}
}

function kindOf(stats: Stats): 'file' | 'directory' | 'symlink' | 'other' {
	if (stats.isFile()) return 'file';
	if (stats.isDirectory()) return 'directory';
	return stats.isSymbolicLink() ? 'symlink' : 'other';
}
