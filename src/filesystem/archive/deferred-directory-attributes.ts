import {constants} from 'node:fs';
import {joinPath} from '../byte-path.js';
import type {FileCalls} from '../syscalls.js';
import type {DirectoryChain} from './directory-chain.js';
import type {Attributes} from './tar-entry.js';
import type {EntryErrors} from './transfer-outcome.js';

const OPEN = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** With more directories, those that seem complete get their attributes before the end of the transfer. */
const MAX_DEFERRED_DIRECTORIES = 50_000;

/**
 * Attributes of the directories a transfer has created, set when their content is complete: a read-only directory
 * would refuse its own content, and each new entry changes the modification time.
 */
export class DeferredDirectoryAttributes {
	readonly #deferred = new Map<string, Attributes | undefined>();

	get isFull(): boolean {
		return this.#deferred.size > MAX_DEFERRED_DIRECTORIES;
	}

	add(names: readonly string[], attributes?: Attributes): void {
		this.#deferred.set(names.join('/'), attributes);
	}

	/** Sets the attributes of a directory that was created as a parent; those that existed before stay unchanged. */
	update(names: readonly string[], attributes: Attributes): void {
		const name = names.join('/');
		if (this.#deferred.has(name)) this.#deferred.set(name, attributes);
	}

	/** Applies the deferred attributes, deepest first, except for ancestors of `current`. */
	async apply(
		calls: FileCalls,
		chain: DirectoryChain,
		entryErrors: EntryErrors,
		current?: readonly string[],
	): Promise<void> {
		const currentPath = current && `${current.join('/')}/`;
		for (const [name, attributes] of [...this.#deferred].reverse()) {
			if (currentPath !== undefined && (name === '' || currentPath.startsWith(`${name}/`))) continue;
			this.#deferred.delete(name);
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
		const fd = await calls.open(joinPath(chain.path, own), OPEN);
		try {
			await calls.chmod(fd, attributes.mode);
			if (attributes.mtimeMs !== undefined) await calls.setTime(fd, attributes.mtimeMs);
		} finally {
			await calls.close(fd);
		}
	}
}
