import type {Dirent, Stats} from 'node:fs';
import {Yielder} from '../../shared/node/yielder.js';
import {type BytePath, baseName, joinPath, parentPath, ROOT} from '../byte-path.js';
import {listDirectory} from '../directories.js';
import {fileErrorMessage, isErrno} from '../file-errors.js';
import {type FileCalls, preferredCalls} from '../syscalls.js';
import {type ChangeBatch, ChangeLog} from './change-log.js';
import {onDropped} from './event-queue.js';
import {compileIgnoreRules, type IsIgnored} from './ignored.js';
import {WatchedDirectories} from './watched-directories.js';

/** Debounce: events within this time are examined together. */
const DEBOUNCE_MS = 50;
/** Entries with unexamined events; beyond it they are replaced by an overflow. */
const MAX_PENDING_ENTRIES = 16_384;

export interface TreeWatchOptions {
	readonly recursive: boolean;
	/** Entries that are not watched, in the syntax of `.gitignore`. */
	readonly ignore: readonly string[];
}

/**
 * Watches a directory, optionally recursively, or a single file. Changes are buffered until they are taken: for a slow
 * consumer they are merged, and beyond a limit replaced by an overflow.
 */
export class TreeWatch {
	readonly #root: BytePath;
	readonly #isTree: boolean;
	readonly #recursive: boolean;
	readonly #matchesIgnoreRule: IsIgnored;
	readonly #onChange: () => void;
	readonly #log = new ChangeLog();
	readonly #directories: WatchedDirectories;
	readonly #stopListening: () => void;
	/** Entries with unexamined events; true if the entry may have been replaced. */
	#pending = new Map<BytePath, boolean>();
	#needsRescan = false;
	#timer: NodeJS.Timeout | undefined;
	#isExamining = false;
	#isClosed = false;

	/** Throws if the path does not exist or the system has no watches left. `onChange` is called when there are changes. */
	static async begin(root: BytePath, options: TreeWatchOptions, onChange: () => void): Promise<TreeWatch> {
		const calls = preferredCalls(root);
		const isTree = (await calls.stat(root)).isDirectory();
		const watch = new TreeWatch(root, isTree, options, onChange);
		try {
			if (isTree) await watch.#addTree(calls, root, 'silent');
			else watch.#directories.add(parentPath(root));
			return watch;
		} catch (error) {
			watch.end();
			throw error;
		}
	}

	private constructor(root: BytePath, isTree: boolean, {recursive, ignore}: TreeWatchOptions, onChange: () => void) {
		this.#root = root;
		this.#isTree = isTree;
		this.#recursive = recursive;
		this.#matchesIgnoreRule = compileIgnoreRules(ignore);
		this.#onChange = onChange;
		this.#directories = new WatchedDirectories({
			onEvent: (entry, directory, kind) => this.#onEvent(entry, directory, kind),
			onFailure: error => this.#endWith(fileErrorMessage(error)),
		});
		this.#stopListening = onDropped(() => this.#overflow());
	}

	/** Removes and returns up to `maxChanges` changes; undefined if there are none. */
	take(maxChanges: number): ChangeBatch | undefined {
		return this.#log.take(maxChanges);
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
		this.#onChange();
	}

	#onEvent(entry: BytePath, directory: BytePath, kind: 'rename' | 'change'): void {
		if (this.#isClosed || (!this.#isTree && entry !== this.#root)) return;
		this.#pending.set(entry, kind === 'rename' || this.#pending.get(entry) === true);
		// inotify reports an event of the directory itself under its own name, like one of an entry.
		if (kind === 'rename' && baseName(entry) === baseName(directory)) this.#pending.set(directory, false);
		if (this.#pending.size > MAX_PENDING_ENTRIES) this.#overflow();
		this.#scheduleExamination();
	}

	/** Changes were lost: scans the tree again, so that new directories are watched. */
	#overflow(): void {
		if (this.#isClosed) return;
		this.#needsRescan = true;
		this.#pending.clear();
		this.#log.overflow();
		this.#scheduleExamination();
	}

	#scheduleExamination(): void {
		if (this.#isExamining || this.#isClosed) return;
		this.#timer ??= setTimeout(() => {
			this.#timer = undefined;
			this.#isExamining = true;
			void this.#examinePending()
				.catch((error: unknown) => this.#endWith(fileErrorMessage(error)))
				.finally(() => {
					this.#isExamining = false;
					if (this.#pending.size > 0 || this.#needsRescan) this.#scheduleExamination();
				});
		}, DEBOUNCE_MS).unref();
	}

	/** Examines the entries with events. Missing ones first: they may have been moved to one of the others. */
	async #examinePending(): Promise<void> {
		const calls = preferredCalls();
		const yielder = new Yielder();
		const unsettled = this.#pending;
		this.#pending = new Map();
		if (this.#needsRescan) await this.#rescan(calls);
		const present: [BytePath, Stats][] = [];
		for (const path of unsettled.keys()) {
			const stats = await lstatIfReadable(calls, path);
			if (stats) present.push([path, stats]);
			else await this.#handleMissing(calls, path);
			await yielder.yieldIfDue();
		}
		for (const [path, stats] of present) await this.#handleExisting(calls, path, stats, unsettled.get(path)!);
		if (!this.#isClosed && !this.#log.isEmpty) this.#onChange();
	}

	async #handleMissing(calls: FileCalls, path: BytePath): Promise<void> {
		if (this.#isTree && path === this.#root) {
			this.#log.add(path, 'removed');
			this.#endWith('the watched directory is gone');
			return;
		}
		this.#directories.removeWithin(path);
		// An entry that was removed with its directory is not reported on its own.
		if (this.#isIgnored(path, undefined) || !(await lstatIfReadable(calls, parentPath(path)))) return;
		this.#log.add(path, 'removed');
	}

	async #handleExisting(calls: FileCalls, path: BytePath, stats: Stats, isNew: boolean): Promise<void> {
		if (this.#isIgnored(path, stats.isDirectory())) return;
		// The root is pending only because an entry of it has the same name.
		if (this.#isTree && path === this.#root) return;
		this.#log.add(path, isNew ? 'created' : 'modified');
		if (!isNew || !this.#isTree) return;
		this.#directories.removeWithin(path);
		if (this.#recursive && stats.isDirectory()) await this.#addTree(calls, path, 'reported');
	}

	async #rescan(calls: FileCalls): Promise<void> {
		this.#needsRescan = false;
		if (!this.#isTree) return;
		for (const directory of this.#directories.paths) {
			if (!(await lstatIfReadable(calls, directory))?.isDirectory()) this.#directories.removeWithin(directory);
		}
		if (this.#directories.has(this.#root)) await this.#addTree(calls, this.#root, 'silent');
		else await this.#handleMissing(calls, this.#root);
	}

	/** Watches a directory and those below. `reported` for a new one: its entries came before it was watched. */
	async #addTree(calls: FileCalls, top: BytePath, entries: 'reported' | 'silent'): Promise<void> {
		const yielder = new Yielder();
		const queue = [top];
		for (let directory = queue.pop(); directory !== undefined && !this.#isClosed; directory = queue.pop()) {
			if (!this.#watchDirectory(directory, top) || !(this.#recursive || entries === 'reported')) continue;
			for (const child of await listIfReadable(calls, directory)) {
				const path = joinPath(directory, child.name);
				if (this.#isIgnored(path, child.isDirectory())) continue;
				if (entries === 'reported') this.#log.add(path, 'created');
				if (this.#recursive && child.isDirectory()) queue.push(path);
			}
			await yielder.yieldIfDue();
		}
	}

	/** Skips a directory without read permission, except the top. */
	#watchDirectory(directory: BytePath, top: BytePath): boolean {
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
		if (isDirectory !== undefined) return this.#matchesIgnoreRule(relative, isDirectory);
		return this.#matchesIgnoreRule(relative, true) || this.#matchesIgnoreRule(relative, false);
	}
}

async function lstatIfReadable(calls: FileCalls, path: BytePath): Promise<Stats | undefined> {
	try {
		return await calls.lstat(path);
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined;
		throw error;
	}
}

/** No entries for a directory that was removed or is unreadable. */
async function listIfReadable(calls: FileCalls, directory: BytePath): Promise<Dirent[]> {
	try {
		return await listDirectory(calls, directory, Number.POSITIVE_INFINITY);
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES', 'EPERM')) return [];
		throw error;
	}
}
