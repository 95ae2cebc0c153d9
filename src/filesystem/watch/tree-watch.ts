import type {Dirent, Stats} from 'node:fs';
import {Yielder} from '../../shared/node/yielder.js';
import {type BytePath, childOf, nameOf, parentOf, ROOT} from '../byte-path.js';
import {listDirectory} from '../directories.js';
import {fileErrorMessage, isErrno} from '../file-errors.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
import {type ChangeBatch, ChangeLog} from './change-log.js';
import {onDropped} from './event-queue.js';
import {type Ignored, ignoring} from './ignored.js';
import {WatchedDirectories} from './watched-directories.js';

/** What happens within this time is told together. */
const COALESCE_MS = 50;
/** Entries with news that are looked at together; more than that is an overflow. */
const MAX_UNSETTLED_ENTRIES = 16_384;

export interface TreeWatchOptions {
	readonly recursive: boolean;
	/** What is not watched, in the language of `.gitignore`. */
	readonly ignore: readonly string[];
}

/**
 * Watches a directory, with all below it if asked, or a single file. Changes are collected until they are taken: a
 * slow taker finds them merged, and when they become too many an overflow in their place.
 */
export class TreeWatch {
	readonly #root: BytePath;
	readonly #isTree: boolean;
	readonly #recursive: boolean;
	readonly #ignored: Ignored;
	readonly #wake: () => void;
	readonly #log = new ChangeLog();
	readonly #directories: WatchedDirectories;
	readonly #stopListening: () => void;
	/** Entries with news; true if there may be something else of that name now. */
	#unsettled = new Map<BytePath, boolean>();
	#needsRescan = false;
	#timer: NodeJS.Timeout | undefined;
	#settling = false;
	#isClosed = false;

	/** Throws when there is nothing at the path, or the system has no watches left. `wake` comes when there is news. */
	static async begin(root: BytePath, options: TreeWatchOptions, wake: () => void): Promise<TreeWatch> {
		const calls = preferredCalls();
		const isTree = (await calls.stat(root)).isDirectory();
		const watch = new TreeWatch(root, isTree, options, wake);
		try {
			if (isTree) await watch.#addTree(calls, root, 'silent');
			else watch.#directories.add(parentOf(root));
			return watch;
		} catch (error) {
			watch.end();
			throw error;
		}
	}

	private constructor(root: BytePath, isTree: boolean, {recursive, ignore}: TreeWatchOptions, wake: () => void) {
		this.#root = root;
		this.#isTree = isTree;
		this.#recursive = recursive;
		this.#ignored = ignoring(ignore);
		this.#wake = wake;
		this.#directories = new WatchedDirectories({
			happened: (entry, directory, kind) => this.#happened(entry, directory, kind),
			failed: error => this.#endWith(fileErrorMessage(error)),
		});
		this.#stopListening = onDropped(() => this.#overflow());
	}

	/** What has happened since the last time, at most so many changes of it; undefined when there is nothing. */
	take(most: number): ChangeBatch | undefined {
		return this.#log.take(most);
	}

	end(): void {
		this.#isClosed = true;
		clearTimeout(this.#timer);
		this.#stopListening();
		this.#directories.close();
	}

	#endWith(reason: string): void {
		if (this.#isClosed) return;
		this.end();
		this.#log.end(reason);
		this.#wake();
	}

	#happened(entry: BytePath, directory: BytePath, kind: 'rename' | 'change'): void {
		if (this.#isClosed || (!this.#isTree && entry !== this.#root)) return;
		this.#unsettled.set(entry, kind === 'rename' || this.#unsettled.get(entry) === true);
		// The system tells of the directory itself under its own name, as if it were in itself.
		if (kind === 'rename' && nameOf(entry) === nameOf(directory)) this.#unsettled.set(directory, false);
		if (this.#unsettled.size > MAX_UNSETTLED_ENTRIES) this.#overflow();
		this.#settleSoon();
	}

	/** Which changes there were is lost; the tree is looked through again, so that later ones are not. */
	#overflow(): void {
		if (this.#isClosed) return;
		this.#needsRescan = true;
		this.#unsettled.clear();
		this.#log.overflow();
		this.#settleSoon();
	}

	#settleSoon(): void {
		if (this.#settling || this.#isClosed) return;
		this.#timer ??= setTimeout(() => {
			this.#timer = undefined;
			this.#settling = true;
			void this.#settle()
				.catch((error: unknown) => this.#endWith(fileErrorMessage(error)))
				.finally(() => {
					this.#settling = false;
					if (this.#unsettled.size > 0 || this.#needsRescan) this.#settleSoon();
				});
		}, COALESCE_MS).unref();
	}

	/** Finds out what has become of the entries with news. Those that are gone come first: they may only have moved. */
	async #settle(): Promise<void> {
		const calls = preferredCalls();
		const yielder = new Yielder();
		const unsettled = this.#unsettled;
		this.#unsettled = new Map();
		if (this.#needsRescan) await this.#rescan(calls);
		const present: [BytePath, Stats][] = [];
		for (const path of unsettled.keys()) {
			const stats = await lookAt(calls, path);
			if (stats) present.push([path, stats]);
			else await this.#gone(calls, path);
			await yielder.yieldIfDue();
		}
		for (const [path, stats] of present) await this.#there(calls, path, stats, unsettled.get(path)!);
		if (!this.#isClosed && !this.#log.isEmpty) this.#wake();
	}

	async #gone(calls: FileCalls, path: BytePath): Promise<void> {
		if (this.#isTree && path === this.#root) {
			this.#log.add(path, 'removed');
			this.#endWith('the watched directory is gone');
			return;
		}
		this.#directories.removeWithin(path);
		// What went with its directory is not told on its own.
		if (this.#isIgnored(path, undefined) || !(await lookAt(calls, parentOf(path)))) return;
		this.#log.add(path, 'removed');
	}

	async #there(calls: FileCalls, path: BytePath, stats: Stats, isNew: boolean): Promise<void> {
		if (this.#isIgnored(path, stats.isDirectory())) return;
		// The root is only here because something in it has its name.
		if (this.#isTree && path === this.#root) return;
		this.#log.add(path, isNew ? 'created' : 'modified');
		if (!isNew || !this.#isTree) return;
		this.#directories.removeWithin(path);
		if (this.#recursive && stats.isDirectory()) await this.#addTree(calls, path, 'told');
	}

	async #rescan(calls: FileCalls): Promise<void> {
		this.#needsRescan = false;
		if (!this.#isTree) return;
		for (const directory of this.#directories.paths) {
			if (!(await lookAt(calls, directory))?.isDirectory()) this.#directories.removeWithin(directory);
		}
		if (this.#directories.has(this.#root)) await this.#addTree(calls, this.#root, 'silent');
		else await this.#gone(calls, this.#root);
	}

	/** Watches a directory and those below. Its entries are told of when it came with them before we could watch it. */
	async #addTree(calls: FileCalls, top: BytePath, entries: 'told' | 'silent'): Promise<void> {
		const yielder = new Yielder();
		const queue = [top];
		for (let directory = queue.pop(); directory !== undefined && !this.#isClosed; directory = queue.pop()) {
			if (!this.#watch(directory, top) || !(this.#recursive || entries === 'told')) continue;
			for (const child of await listed(calls, directory)) {
				const path = childOf(directory, child.name);
				if (this.#isIgnored(path, child.isDirectory())) continue;
				if (entries === 'told') this.#log.add(path, 'created');
				if (this.#recursive && child.isDirectory()) queue.push(path);
			}
			await yielder.yieldIfDue();
		}
	}

	/** A directory nobody lets us look into cannot be watched; the top has to be. */
	#watch(directory: BytePath, top: BytePath): boolean {
		try {
			return this.#directories.add(directory);
		} catch (error) {
			if (directory !== top && isErrno(error, 'EACCES', 'EPERM')) return false;
			throw error;
		}
	}

	#isIgnored(path: BytePath, isDirectory: boolean | undefined): boolean {
		if (path === this.#root || !this.#isTree) return false;
		const relative = path.slice(this.#root === ROOT ? 1 : this.#root.length + 1);
		if (isDirectory !== undefined) return this.#ignored(relative, isDirectory);
		return this.#ignored(relative, true) || this.#ignored(relative, false);
	}
}

async function lookAt(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	try {
		return await calls.lstat(path);
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined;
		throw error;
	}
}

/** What has gone meanwhile, or may not be read, has no entries. */
async function listed(calls: FileCalls, directory: BytePath): Promise<Dirent[]> {
	try {
		return await listDirectory(calls, directory, Number.POSITIVE_INFINITY);
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM')) return [];
		throw error;
	}
}
