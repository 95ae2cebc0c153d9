import {type FSWatcher, watch} from 'node:fs';
import {LongarmError} from '../../shared/errors.js';
import {type BytePath, childOf, isWithin, toSystem} from '../byte-path.js';
import {isErrno} from '../file-errors.js';
import {countEvent} from './event-queue.js';

/** Directories one watch may extend to. */
const MAX_DIRECTORIES = 100_000;

export interface DirectoryEvents {
	/** Something happened to this entry, or to the directory itself under the entry's name. */
	happened(entry: BytePath, directory: BytePath, kind: 'rename' | 'change'): void;
	/** The system stopped watching. */
	failed(error: Error): void;
}

/** The directories that are being watched, each for its own entries. */
export class WatchedDirectories {
	readonly #events: DirectoryEvents;
	readonly #watchers = new Map<BytePath, FSWatcher>();

	constructor(events: DirectoryEvents) {
		this.#events = events;
	}

	get paths(): BytePath[] {
		return [...this.#watchers.keys()];
	}

	has(directory: BytePath): boolean {
		return this.#watchers.has(directory);
	}

	/** False when there is nothing to be watched any more. Throws when the system has no watches left. */
	add(directory: BytePath): boolean {
		if (this.#watchers.has(directory)) return true;
		if (this.#watchers.size >= MAX_DIRECTORIES) {
			throw outOfWatches(`a watch covers at most ${MAX_DIRECTORIES} directories`);
		}
		try {
			const watcher = watch(toSystem(directory), {persistent: false, encoding: 'latin1'}, (kind, name) => {
				countEvent();
				if (name !== null) this.#events.happened(childOf(directory, name), directory, kind);
			});
			watcher.on('error', error => this.#events.failed(error));
			this.#watchers.set(directory, watcher);
			return true;
		} catch (error) {
			if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false;
			if (isErrno(error, 'ENOSPC', 'EMFILE', 'ENFILE')) {
				throw outOfWatches('the system has no file watches left (fs.inotify.max_user_watches)');
			}
			throw error;
		}
	}

	/** Those below go as well: they are elsewhere now, or nowhere. */
	removeWithin(directory: BytePath): void {
		if (!this.#watchers.has(directory)) return;
		for (const [path, watcher] of this.#watchers) {
			if (!isWithin(path, directory)) continue;
			watcher.close();
			this.#watchers.delete(path);
		}
	}

	close(): void {
		for (const watcher of this.#watchers.values()) watcher.close();
		this.#watchers.clear();
	}
}

function outOfWatches(message: string): LongarmError {
	return new LongarmError('RESOURCES_EXHAUSTED', {message});
}
