import {percentDecode} from '../../protocol/path-uri/path-uri-encoding.js';
import {type BytePath, joinPath, toDisplayText} from '../byte-path.js';
import {isErrno, refusedError, systemError} from '../file-errors.js';
import {fdPath, openDirectory} from '../no-follow.js';
import type {FileCalls} from '../syscalls.js';

/** Levels above the current one that stay open: bounds the descriptors of a deep tree. */
const MAX_OPEN_LEVELS = 64;
/** Paths in one request. */
export const MAX_PATH_NAMES = 10_000;

interface OpenDirectory {
	/** Path that leads to the inode, independent of its name. */
	readonly path: BytePath;
	readonly fd: number | undefined;
}

interface Level {
	readonly name: string;
	directory: OpenDirectory | undefined;
}

/**
 * Cursor in a tree: the current directory and its ancestors up to a root. Every level is opened relative to the one
 * above without following links, so a directory that is swapped for a link does not lead out of the root.
 */
export class DirectoryChain {
	readonly #calls: FileCalls;
	readonly #root: OpenDirectory;
	readonly #levels: Level[] = [];

	private constructor(calls: FileCalls, root: OpenDirectory) {
		this.#calls = calls;
		this.#root = root;
	}

	/** `root` itself may be reached through links. */
	static async open(calls: FileCalls, root: BytePath): Promise<DirectoryChain> {
		return new DirectoryChain(calls, await openLevel(calls, joinPath(root, '.')));
	}

	get root(): BytePath {
		return this.#root.path;
	}

	/** Path of the current directory. */
	get path(): BytePath {
		return (this.#levels.at(-1)?.directory ?? this.#root).path;
	}

	/** Descends one level; `ENOTDIR` for a link as for anything else that is no directory. */
	async enter(name: string): Promise<void> {
		const directory = await openLevel(this.#calls, joinPath(this.path, name));
		this.#levels.push({name, directory});
		const above = this.#levels.at(-1 - MAX_OPEN_LEVELS);
		if (!above?.directory) return;
		await this.#release(above.directory);
		above.directory = undefined;
	}

	async leave(): Promise<void> {
		await this.#ascendTo(this.#levels.length - 1);
	}

	/** Moves to a directory below the root; `make` creates missing ones. */
	async goTo(names: readonly string[], make?: (path: BytePath, depth: number) => Promise<void>): Promise<void> {
		let depth = 0;
		while (depth < names.length && this.#levels[depth]?.name === names[depth]) depth++;
		if (depth < this.#levels.length) await this.#ascendTo(depth);
		for (; depth < names.length; depth++) {
			try {
				await this.enter(names[depth]!);
			} catch (error) {
				if (!make || !isErrno(error, 'ENOENT')) throw error;
				await make(joinPath(this.path, names[depth]!), depth + 1);
				await this.enter(names[depth]!);
			}
		}
	}

	async close(): Promise<void> {
		await this.#closeBelow(0);
		await this.#release(this.#root);
	}

	async #ascendTo(depth: number): Promise<void> {
		await this.#closeBelow(depth);
		const last = this.#levels.at(-1);
		if (!last || last.directory) return;
		const names = this.#levels.map(({name}) => name);
		this.#levels.length = 0;
		for (const name of names) await this.enter(name);
	}

	async #closeBelow(depth: number): Promise<void> {
		while (this.#levels.length > depth) {
			const {directory} = this.#levels.pop()!;
			if (directory) await this.#release(directory);
		}
	}

	async #release({fd}: OpenDirectory): Promise<void> {
		if (fd !== undefined) await this.#calls.close(fd);
	}
}

async function openLevel(calls: FileCalls, entry: BytePath): Promise<OpenDirectory> {
	if (process.platform === 'linux') {
		const fd = await openDirectory(calls, entry);
		return {path: fdPath(fd), fd};
	}
	// Other systems have no paths of descriptors: a link is refused, but one that is put there later is followed.
	if (!(await calls.lstat(entry)).isDirectory()) throw systemError('ENOTDIR');
	return {path: entry, fd: undefined};
}

/** Parses percent-encoded paths relative to a directory, none of which may lead out of it. */
export function parseRelativePaths(encoded: readonly string[]): string[][] {
	if (encoded.length > MAX_PATH_NAMES) throw refusedError(`more than ${MAX_PATH_NAMES} names`);
	return encoded.map(parseRelativePath);
}

/** Components of a percent-encoded relative path; none for the directory itself. */
export function parseRelativePath(encoded: string): string[] {
	return encoded === '' ? [] : splitRelativePath(percentDecode(encoded));
}

/** Components of a relative path; `.` is the root itself. Throws for a path that could lead out of the root. */
export function splitRelativePath(name: string): string[] {
	const names = name.split('/').filter(part => part !== '' && part !== '.');
	if (name === '') throw refusedError('an entry has no name');
	if (name.startsWith('/') || name.includes('\0') || names.includes('..')) {
		throw refusedError(`the name \`${toDisplayText(name)}\` leads out of the archive`);
	}
	return names;
}
