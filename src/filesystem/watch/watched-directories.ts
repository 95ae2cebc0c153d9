import {type FSWatcher, watch} from 'node:fs';
import {LongarmError} from '../../shared/errors.js';
import {type BytePath, isWithin, joinPath, toFsPath} from '../byte-path.js';
import {isErrno} from '../file-errors.js';
import {countEvent} from './event-queue.js';

/** Directories of one watch. */
const MAX_DIRECTORIES = 100_000;

export interface DirectoryEvents {
	/** Event of an entry, or of the directory itself under the entry's name. */
	onEvent(entry: BytePath, directory: BytePath, kind: 'rename' | 'change'): void;
	/** The system has stopped watching. */
	onFailure(error: Error): void;
}

/** Set of watched directories; each watcher covers direct entries only. */
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

	/** False if the directory does not exist any more. Throws if the system has no watches left. */
	add(directory: BytePath): boolean {
		if (this.#watchers.has(directory)) return true;
		if (this.#watchers.size >= MAX_DIRECTORIES) {
			throw outOfWatchesError(`a watch covers at most ${MAX_DIRECTORIES} directories`);
		}
		try {
			const watcher = watch(toFsPath(directory), {persistent: false, encoding: 'latin1'}, (kind, name) => {
				countEvent();
				if (name !== null) this.#events.onEvent(joinPath(directory, name), directory, kind);
			});
			watcher.on('error', error => this.#events.onFailure(error));
			this.#watchers.set(directory, watcher);
			return true;
		} catch (error) {
			if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false;
			if (isErrno(error, 'ENOSPC', 'EMFILE', 'ENFILE')) {
				throw outOfWatchesError('the system has no file watches left (fs.inotify.max_user_watches)');
			}
			throw error;
		}
	}

	/** Removes also the watchers below: those directories were moved or removed. */
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

function outOfWatchesError(message: string): LongarmError {
	return new LongarmError('RESOURCES_EXHAUSTED', {message});
}
