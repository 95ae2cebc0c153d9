import {constants} from 'node:fs';
import {childOf} from '../byte-path.js';
import type {FileCalls} from '../syscalls.js';
import type {DirectoryChain} from './directory-chain.js';
import type {EntryErrors} from './entry-errors.js';
import {setTime} from './file-times.js';
import type {Attributes} from './tar-entry.js';

const OPEN = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Directories whose attributes wait for the end; with more, those that seem to be over get them earlier. */
const MAX_WAITING_DIRECTORIES = 50_000;

/**
 * The directories a transfer made. Their modes and times are set when their content is there: a directory that must
 * not be written to would keep its own content out, and each new entry changes the time.
 */
export class DeferredDirectoryAttributes {
	readonly #waiting = new Map<string, Attributes | undefined>();

	get isCrowded(): boolean {
		return this.#waiting.size > MAX_WAITING_DIRECTORIES;
	}

	add(names: readonly string[], attributes?: Attributes): void {
		this.#waiting.set(names.join('/'), attributes);
	}

	/** For one that was made on the way to something else; those that were there before stay as they are. */
	describe(names: readonly string[], attributes: Attributes): void {
		const name = names.join('/');
		if (this.#waiting.has(name)) this.#waiting.set(name, attributes);
	}

	/** Sets what waits, the deepest first, except for the directories on the way to `current`. */
	async settle(
		calls: FileCalls,
		chain: DirectoryChain,
		entryErrors: EntryErrors,
		current?: readonly string[],
	): Promise<void> {
		const way = current && `${current.join('/')}/`;
		for (const [name, attributes] of [...this.#waiting].reverse()) {
			if (way !== undefined && (name === '' || way.startsWith(`${name}/`))) continue;
			this.#waiting.delete(name);
			if (!attributes) continue;
			try {
				await this.#set(calls, chain, name === '' ? [] : name.split('/'), attributes);
			} catch (error) {
				entryErrors.add(name, error);
			}
		}
	}

	async #set(calls: FileCalls, chain: DirectoryChain, names: string[], attributes: Attributes): Promise<void> {
		const own = names.pop() ?? '.';
		await chain.goTo(names);
		const fd = await calls.open(childOf(chain.place, own), OPEN);
		try {
			await calls.chmod(fd, attributes.mode);
			if (attributes.mtimeMs !== undefined) await setTime(fd, attributes.mtimeMs);
		} finally {
			await calls.close(fd);
		}
	}
}
