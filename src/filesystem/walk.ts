import type {Dirent} from 'node:fs';
import {PathUri} from '../protocol/path-uri/path-uri.js';
import {Yielder} from '../shared/node/yielder.js';
import {type BytePath, childOf} from './byte-path.js';
import {listDirectory} from './directories.js';
import {fileErrorMessage, isErrno, refused} from './file-errors.js';
import {type FileCalls, preferredCalls} from './syscalls.js';

const MOST = {depth: 64, directories: 10_000, entries: 50_000} as const;
/** What an answer may hold: the bytes of its URIs and messages and so much per item. */
const BUDGET_BYTES = 4 * 1024 * 1024;
const ITEM_BYTES = 64;
/** A directory with more entries is not sorted in memory; it becomes an error of the walk. */
const MAX_DIRECTORY_ENTRIES = 1_000_000;

export interface TreeWalkOptions {
	/** 0 lists the children of the root only. */
	readonly maxDepth: number;
	/** Directories entered, the root included. */
	readonly maxDirectories: number;
	/** Children looked at. */
	readonly maxEntries: number;
	readonly followDirectorySymlinks: boolean;
	/** Hidden directories are listed but not entered. */
	readonly pruneHiddenDirectories: boolean;
}

export interface TreeWalkOutcome {
	readonly entries: {readonly path: string; readonly kind: 'directory' | 'file'}[];
	readonly errors: {readonly path: string; readonly message: string}[];
	readonly truncated: boolean;
}

/** Lists a tree breadth first, the children of each directory by name, within bounds. The root is not listed. */
export async function walk(root: BytePath, options: TreeWalkOptions): Promise<TreeWalkOutcome> {
	requireLimits(options);
	const calls = preferredCalls();
	const stats = await calls.lstat(root);
	const isEntered = stats.isSymbolicLink()
		? options.followDirectorySymlinks && (await calls.stat(root)).isDirectory()
		: stats.isDirectory();
	const walker = new Walker(calls, options);
	if (isEntered) await walker.enter(root);
	return walker.outcome;
}

function requireLimits({maxDepth, maxDirectories, maxEntries}: TreeWalkOptions): void {
	if (maxDirectories === 0 || maxEntries === 0) throw refused('filesystem walk limits must be greater than zero');
	if (maxDepth <= MOST.depth && maxDirectories <= MOST.directories && maxEntries <= MOST.entries) return;
	const {depth, directories, entries} = MOST;
	throw refused(
		`filesystem walk limits exceed maximums: depth=${depth}, directories=${directories}, entries=${entries}`,
	);
}

interface Visit {
	readonly path: BytePath;
	readonly uri: PathUri;
	readonly depth: number;
}

class Walker {
	readonly #calls: FileCalls;
	readonly #options: TreeWalkOptions;
	readonly #queue: Visit[] = [];
	/** Where links are followed, every directory that was entered or is going to be, so that circles end. */
	readonly #visited = new Set<string>();
	readonly #entries: TreeWalkOutcome['entries'] = [];
	readonly #errors: TreeWalkOutcome['errors'] = [];
	readonly #yielder = new Yielder();
	#directories = 0;
	#examined = 0;
	#bytes = 0;
	#truncated = false;
	#full = false;

	constructor(calls: FileCalls, options: TreeWalkOptions) {
		this.#calls = calls;
		this.#options = options;
	}

	get outcome(): TreeWalkOutcome {
		return {entries: this.#entries, errors: this.#errors, truncated: this.#truncated};
	}

	async enter(root: BytePath): Promise<void> {
		const uri = PathUri.fromBinary(root);
		await this.#enqueue({path: root, uri, depth: 0});
		for (let next = this.#queue.shift(); next && !this.#full; next = this.#queue.shift()) {
			await this.#list(next);
			const pause = this.#yielder.yieldIfDue();
			if (pause) await pause;
		}
	}

	async #list(directory: Visit): Promise<void> {
		let children: Dirent[];
		try {
			children = await listDirectory(this.#calls, directory.path, MAX_DIRECTORY_ENTRIES);
		} catch (error) {
			this.#fail(directory.uri, fileErrorMessage(error));
			return;
		}
		if (children.length > MAX_DIRECTORY_ENTRIES) {
			this.#fail(directory.uri, `directory has more than ${MAX_DIRECTORY_ENTRIES} entries`);
			return;
		}
		children.sort((one, other) => (one.name < other.name ? -1 : 1));
		for (const child of children) {
			if (this.#examined >= this.#options.maxEntries) this.#stop();
			if (this.#full) return;
			this.#examined++;
			if (child.isFile()) this.#add(directory.uri.child(child.name), 'file');
			else if (child.isDirectory() || child.isSymbolicLink()) await this.#examineDirectory(directory, child);
		}
	}

	async #examineDirectory(parent: Visit, child: Dirent): Promise<void> {
		const {followDirectorySymlinks, maxDepth, pruneHiddenDirectories} = this.#options;
		const path = childOf(parent.path, child.name);
		const uri = parent.uri.child(child.name);
		if (child.isSymbolicLink() && !(followDirectorySymlinks && (await this.#leadsToDirectory(path, uri)))) return;
		this.#add(uri, 'directory');
		const isPruned = pruneHiddenDirectories && child.name.startsWith('.');
		if (parent.depth < maxDepth && !isPruned) await this.#enqueue({path, uri, depth: parent.depth + 1});
	}

	async #enqueue(visit: Visit): Promise<void> {
		if (this.#options.followDirectorySymlinks && !(await this.#isNew(visit))) return;
		if (this.#directories < this.#options.maxDirectories) {
			this.#directories++;
			this.#queue.push(visit);
		} else {
			this.#truncated = true;
		}
	}

	async #isNew({path, uri}: Visit): Promise<boolean> {
		try {
			const {dev, ino} = await this.#calls.stat(path);
			const identity = `${dev}:${ino}`;
			if (this.#visited.has(identity)) return false;
			this.#visited.add(identity);
			return true;
		} catch (error) {
			this.#fail(uri, fileErrorMessage(error));
			return false;
		}
	}

	async #leadsToDirectory(path: BytePath, uri: PathUri): Promise<boolean> {
		try {
			return (await this.#calls.stat(path)).isDirectory();
		} catch (error) {
			if (!isErrno(error, 'ENOENT')) this.#fail(uri, fileErrorMessage(error));
			return false;
		}
	}

	#add({href}: PathUri, kind: 'directory' | 'file'): void {
		if (this.#pays(href.length)) this.#entries.push({path: href, kind});
	}

	#fail({href}: PathUri, message: string): void {
		if (this.#pays(href.length + message.length)) this.#errors.push({path: href, message});
	}

	#pays(bytes: number): boolean {
		this.#bytes += bytes + ITEM_BYTES;
		if (this.#bytes > BUDGET_BYTES) this.#stop();
		return !this.#full;
	}

	#stop(): void {
		this.#full = true;
		this.#truncated = true;
	}
}
