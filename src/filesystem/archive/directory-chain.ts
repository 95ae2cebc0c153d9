import {type BytePath, childOf} from '../byte-path.js';
import {isErrno, systemError} from '../file-errors.js';
import {fdPath, openDirectory} from '../no-follow.js';
import type {FileCalls} from '../syscalls.js';

/** Levels above the current one that stay open; however deep a tree is, it costs no more descriptors. */
const OPEN_LEVELS = 64;
const ENOTDIR = 20;

interface HeldDirectory {
	/** A path that leads to the directory itself, whatever has become of its name. */
	readonly path: BytePath;
	readonly fd: number | undefined;
}

interface Level {
	readonly name: string;
	directory: HeldDirectory | undefined;
}

/**
 * A directory below a root, and the way to it. Every level was opened below the one before without following a link,
 * so nothing that is put in the place of one of them leads out of the root.
 */
export class DirectoryChain {
	readonly #calls: FileCalls;
	readonly #root: HeldDirectory;
	readonly #levels: Level[] = [];

	private constructor(calls: FileCalls, root: HeldDirectory) {
		this.#calls = calls;
		this.#root = root;
	}

	/** `root` itself may be reached through links. */
	static async open(calls: FileCalls, root: BytePath): Promise<DirectoryChain> {
		return new DirectoryChain(calls, await hold(calls, childOf(root, '.')));
	}

	get root(): BytePath {
		return this.#root.path;
	}

	/** The current directory. */
	get place(): BytePath {
		return (this.#levels.at(-1)?.directory ?? this.#root).path;
	}

	/** Goes one level down; `ENOTDIR` for a link as for anything else that is no directory. */
	async enter(name: string): Promise<void> {
		const directory = await hold(this.#calls, childOf(this.place, name));
		this.#levels.push({name, directory});
		const above = this.#levels.at(-1 - OPEN_LEVELS);
		if (!above?.directory) return;
		await this.#release(above.directory);
		above.directory = undefined;
	}

	async leave(): Promise<void> {
		await this.#rise(this.#levels.length - 1);
	}

	/** Goes to a directory below the root; `make` creates one that is missing. */
	async goTo(names: readonly string[], make?: (place: BytePath, depth: number) => Promise<void>): Promise<void> {
		let depth = 0;
		while (depth < names.length && this.#levels[depth]?.name === names[depth]) depth++;
		if (depth < this.#levels.length) await this.#rise(depth);
		for (; depth < names.length; depth++) {
			try {
				await this.enter(names[depth]!);
			} catch (error) {
				if (!make || !isErrno(error, 'ENOENT')) throw error;
				await make(childOf(this.place, names[depth]!), depth + 1);
				await this.enter(names[depth]!);
			}
		}
	}

	async close(): Promise<void> {
		await this.#cut(0);
		await this.#release(this.#root);
	}

	async #rise(depth: number): Promise<void> {
		await this.#cut(depth);
		const last = this.#levels.at(-1);
		if (!last || last.directory) return;
		const names = this.#levels.map(({name}) => name);
		this.#levels.length = 0;
		for (const name of names) await this.enter(name);
	}

	async #cut(depth: number): Promise<void> {
		while (this.#levels.length > depth) {
			const {directory} = this.#levels.pop()!;
			if (directory) await this.#release(directory);
		}
	}

	async #release({fd}: HeldDirectory): Promise<void> {
		if (fd !== undefined) await this.#calls.close(fd);
	}
}

async function hold(calls: FileCalls, entry: BytePath): Promise<HeldDirectory> {
	if (process.platform === 'linux') {
		const fd = await openDirectory(calls, entry);
		return {path: fdPath(fd), fd};
	}
	// Elsewhere a directory has no path of its own: a link is refused, but one put there later would be followed.
	if (!(await calls.lstat(entry)).isDirectory()) throw systemError('ENOTDIR', ENOTDIR);
	return {path: entry, fd: undefined};
}
