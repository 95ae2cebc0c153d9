import type {Dirent} from 'node:fs';
import {PathUri} from '../protocol/path-uri/path-uri.js';
import {isPlainInUri} from '../protocol/path-uri/path-uri-encoding.js';
import {Yielder} from '../shared/node/yielder.js';
import {type BytePath, joinPath} from './byte-path.js';
import {listDirectory} from './directories.js';
import {fileErrorMessage, isErrno, refusedError} from './file-errors.js';
import {RAW_DIRECTORY, RAW_FILE, RAW_LINK, type RawEntries, readRawEntries, releaseRawEntries} from './raw-entries.js';
import {type FileCalls, preferredCalls, syncCalls} from './syscalls.js';

const MAX_LIMITS = {depth: 64, directories: 10_000, entries: 50_000} as const;
/** Size of an outcome: the bytes of its URIs and messages, and an overhead per item. */
const MAX_OUTCOME_BYTES = 4 * 1024 * 1024;
const ITEM_OVERHEAD_BYTES = 64;
/** A larger directory is not sorted in memory; it becomes an error of the walk. */
const MAX_DIRECTORY_ENTRIES = 1_000_000;

export interface TreeWalkOptions {
	/** 0 lists the children of the root only. */
	readonly maxDepth: number;
	/** Directories entered, the root included. */
	readonly maxDirectories: number;
	/** Children examined. */
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

/** Receiver of what a walk finds. */
export interface WalkSink {
	add(path: string, kind: 'directory' | 'file'): void;
	/** A file below the URI of its directory; the name stands for itself in a URI. */
	addFile(directory: string, bytes: Buffer, start: number, end: number): void;
	addError(path: string, message: string): void;
}

/** Lists a tree breadth first, the children of each directory by name, within limits. The root is not listed. */
export async function walkBreadthFirst(root: BytePath, options: TreeWalkOptions): Promise<TreeWalkOutcome> {
	const entries: TreeWalkOutcome['entries'] = [];
	const errors: TreeWalkOutcome['errors'] = [];
	const truncated = await walkInto(root, options, {
		add: (path, kind) => void entries.push({path, kind}),
		addFile: (directory, bytes, start, end) =>
			void entries.push({path: `${directory}/${bytes.toString('latin1', start, end)}`, kind: 'file'}),
		addError: (path, message) => void errors.push({path, message}),
	});
	return {entries, errors, truncated};
}

/** The same, one after the other for a receiver; returns whether a limit has cut the walk. */
export async function walkInto(root: BytePath, options: TreeWalkOptions, sink: WalkSink): Promise<boolean> {
	requireLimits(options);
	const calls = preferredCalls(root);
	const stats = await calls.lstat(root);
	const isEntered = stats.isSymbolicLink()
		? options.followDirectorySymlinks && (await calls.stat(root)).isDirectory()
		: stats.isDirectory();
	const walker = new Walker(calls, options, sink);
	if (isEntered) await walker.enter(root);
	return walker.isTruncated;
}

function requireLimits({maxDepth, maxDirectories, maxEntries}: TreeWalkOptions): void {
	if (maxDirectories === 0 || maxEntries === 0) throw refusedError('filesystem walk limits must be greater than zero');
	if (maxDepth <= MAX_LIMITS.depth && maxDirectories <= MAX_LIMITS.directories && maxEntries <= MAX_LIMITS.entries)
		return;
	const {depth, directories, entries} = MAX_LIMITS;
	throw refusedError(
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
	/** Inodes of queued directories, if links are followed: breaks cycles. */
	readonly #visited = new Set<string>();
	readonly #sink: WalkSink;
	readonly #yielder = new Yielder();
	#directories = 0;
	#examined = 0;
	#bytes = 0;
	#isTruncated = false;
	#isFull = false;

	constructor(calls: FileCalls, options: TreeWalkOptions, sink: WalkSink) {
		this.#calls = calls;
		this.#options = options;
		this.#sink = sink;
	}

	get isTruncated(): boolean {
		return this.#isTruncated;
	}

	async enter(root: BytePath): Promise<void> {
		const uri = PathUri.fromBinary(root);
		await this.#enqueue({path: root, uri, depth: 0});
		for (let next = this.#queue.shift(); next && !this.#isFull; next = this.#queue.shift()) {
			await this.#list(next);
			const pause = this.#yielder.yieldIfDue();
			if (pause) await pause;
		}
	}

	async #list(directory: Visit): Promise<void> {
		const raw = this.#calls === syncCalls ? readRawEntries(directory.path) : undefined;
		if (!raw) return this.#listInTurn(directory);
		try {
			await this.#examineRaw(directory, raw);
		} finally {
			releaseRawEntries(raw);
		}
	}

	async #examineRaw(directory: Visit, raw: RawEntries): Promise<void> {
		const {uri} = directory;
		// Not for the root, and not for a URI in the opaque form.
		const isPrefix = uri.childHref('a') === `${uri.href}/a`;
		for (let index = 0; index < raw.count; index++) {
			if (!this.#admitsChild()) return;
			const start = raw.startOf(index);
			const type = raw.typeAt(start);
			if (type === RAW_DIRECTORY || type === RAW_LINK) {
				await this.#examineDirectory(directory, raw.nameAt(start), type === RAW_LINK);
			} else if (type === RAW_FILE) {
				const end = raw.endOf(start);
				if (isPrefix && isPlainInUri(raw.bytes, start, end)) this.#addFile(uri, raw.bytes, start, end);
				else this.#addEntry(uri.childHref(raw.nameAt(start)), 'file');
			}
		}
	}

	async #listInTurn(directory: Visit): Promise<void> {
		let children: Dirent[];
		try {
			children = await listDirectory(this.#calls, directory.path, MAX_DIRECTORY_ENTRIES);
		} catch (error) {
			this.#addError(directory.uri, fileErrorMessage(error));
			return;
		}
		if (children.length > MAX_DIRECTORY_ENTRIES) {
			this.#addError(directory.uri, `directory has more than ${MAX_DIRECTORY_ENTRIES} entries`);
			return;
		}
		children.sort((one, other) => (one.name < other.name ? -1 : 1));
		for (const child of children) {
			if (!this.#admitsChild()) return;
			if (child.isFile()) this.#addEntry(directory.uri.childHref(child.name), 'file');
			else if (child.isDirectory() || child.isSymbolicLink())
				await this.#examineDirectory(directory, child.name, child.isSymbolicLink());
		}
	}

	/** Counts one more child; false if a limit is reached. */
	#admitsChild(): boolean {
		if (this.#examined >= this.#options.maxEntries) this.#truncate();
		if (this.#isFull) return false;
		this.#examined++;
		return true;
	}

	async #examineDirectory(parent: Visit, name: string, isLink: boolean): Promise<void> {
		const {followDirectorySymlinks, maxDepth, pruneHiddenDirectories} = this.#options;
		const path = joinPath(parent.path, name);
		const uri = parent.uri.child(name);
		if (isLink && !(followDirectorySymlinks && (await this.#leadsToDirectory(path, uri)))) return;
		this.#addEntry(uri.href, 'directory');
		const isPruned = pruneHiddenDirectories && name.startsWith('.');
		if (parent.depth < maxDepth && !isPruned) await this.#enqueue({path, uri, depth: parent.depth + 1});
	}

	async #enqueue(visit: Visit): Promise<void> {
		if (this.#options.followDirectorySymlinks && !(await this.#isNew(visit))) return;
		if (this.#directories < this.#options.maxDirectories) {
			this.#directories++;
			this.#queue.push(visit);
		} else {
			this.#isTruncated = true;
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
			this.#addError(uri, fileErrorMessage(error));
			return false;
		}
	}

	async #leadsToDirectory(path: BytePath, uri: PathUri): Promise<boolean> {
		try {
			return (await this.#calls.stat(path)).isDirectory();
		} catch (error) {
			if (!isErrno(error, 'ENOENT')) this.#addError(uri, fileErrorMessage(error));
			return false;
		}
	}

	#addEntry(path: string, kind: 'directory' | 'file'): void {
		if (this.#reserve(path.length)) this.#sink.add(path, kind);
	}

	#addFile({href}: PathUri, bytes: Buffer, start: number, end: number): void {
		if (this.#reserve(href.length + 1 + end - start)) this.#sink.addFile(href, bytes, start, end);
	}

	#addError({href}: PathUri, message: string): void {
		if (this.#reserve(href.length + message.length)) this.#sink.addError(href, message);
	}

	#reserve(bytes: number): boolean {
		this.#bytes += bytes + ITEM_OVERHEAD_BYTES;
		if (this.#bytes > MAX_OUTCOME_BYTES) this.#truncate();
		return !this.#isFull;
	}

	#truncate(): void {
		this.#isFull = true;
		this.#isTruncated = true;
	}
}
