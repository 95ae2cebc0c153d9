import {type FSWatcher, type Stats, watch} from 'node:fs';
import {type BytePath, joinPath, parentPath, ROOT, splitPath, toFsPath} from '../byte-path.js';
import {isErrno} from '../file-errors.js';
import {preferredCalls} from '../syscalls.js';
import {countEvent, onDropped} from './event-queue.js';

/** Missing paths of one watch, and directories above them; a watch with more is refused. */
const MAX_PATHS = 1024;
const MAX_DIRECTORIES = 1024;
/** Throttle: a busy directory is checked at most this often. */
const CHECK_INTERVAL_MS = 20;

export interface MissingRequest {
	readonly missing: readonly BytePath[];
	readonly present: BytePath | undefined;
}

/** State of a missing path when the watch began. */
interface MissingState {
	/** Deepest ancestor that exists, and its inode. */
	readonly directory: BytePath;
	readonly identity: string;
	/** Path of the first missing component. */
	readonly next: BytePath;
}

interface PresentState {
	readonly path: BytePath;
	readonly identity: string;
}

/**
 * Calls back once when one of the missing paths, or a missing ancestor, appears, or when the present path changes.
 * Every ancestor is watched, so that the replacement of a whole directory is noticed, too. `begin` returns undefined
 * if watching is impossible or a path that should be missing exists.
 */
export class MissingPathsWatch {
	readonly #missing: readonly MissingState[];
	readonly #present: PresentState | undefined;
	readonly #onChange: () => void;
	readonly #watchers: FSWatcher[] = [];
	readonly #stopListening: () => void;
	#checkTimer: NodeJS.Timeout | undefined;
	#isClosed = false;

	static async begin(request: MissingRequest, onChange: () => void): Promise<MissingPathsWatch | undefined> {
		const {missing, present} = request;
		if (missing.length === 0 || missing.length > MAX_PATHS) return undefined;
		const before = await captureState(request);
		const directories = listDirectoriesAbove(present === undefined ? missing : [...missing, present]);
		if (!before || directories.length > MAX_DIRECTORIES) return undefined;
		const begun = new MissingPathsWatch(before, onChange);
		// Changes before the last watcher was added are found by comparing the state.
		if (begun.#watchAll(directories) && (await begun.#isUnchanged())) return begun;
		begun.end();
		return undefined;
	}

	private constructor(before: {missing: MissingState[]; present: PresentState | undefined}, onChange: () => void) {
		this.#missing = before.missing;
		this.#present = before.present;
		this.#onChange = onChange;
		this.#stopListening = onDropped(() => this.#scheduleCheck());
	}

	end(): void {
		this.#isClosed = true;
		clearTimeout(this.#checkTimer);
		this.#stopListening();
		for (const watcher of this.#watchers) watcher.close();
	}

	/** False if the system has no watches left. */
	#watchAll(directories: readonly BytePath[]): boolean {
		for (const directory of directories) {
			try {
				const watcher = watch(toFsPath(directory), {persistent: false}, () => {
					countEvent();
					this.#scheduleCheck();
				});
				watcher.on('error', () => this.#notify());
				this.#watchers.push(watcher);
			} catch (error) {
				// Missing or unreadable: the watcher of its parent reports changes.
				if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return false;
			}
		}
		return true;
	}

	#scheduleCheck(): void {
		this.#checkTimer ??= setTimeout(() => {
			this.#checkTimer = undefined;
			void this.#check();
		}, CHECK_INTERVAL_MS).unref();
	}

	async #check(): Promise<void> {
		if (!(await this.#isUnchanged())) this.#notify();
	}

	#notify(): void {
		if (this.#isClosed) return;
		this.end();
		this.#onChange();
	}

	async #isUnchanged(): Promise<boolean> {
		try {
			for (const {directory, identity, next} of this.#missing) {
				if ((await readIdentity(directory)) !== identity || (await exists(next))) return false;
			}
			const present = this.#present;
			return !present || (await readContentIdentity(present.path)) === present.identity;
		} catch {
			return false;
		}
	}
}

/** Undefined if a path that should be missing exists, or the other way round. */
async function captureState(
	request: MissingRequest,
): Promise<{missing: MissingState[]; present: PresentState | undefined} | undefined> {
	try {
		const missing: MissingState[] = [];
		for (const path of request.missing) {
			if (await exists(path)) return undefined;
			missing.push(await captureMissing(path));
		}
		const path = request.present;
		return {missing, present: path === undefined ? undefined : {path, identity: await readContentIdentity(path)}};
	} catch {
		return undefined;
	}
}

async function captureMissing(path: BytePath): Promise<MissingState> {
	let next = path;
	while (!(await exists(parentPath(next)))) next = parentPath(next);
	const directory = parentPath(next);
	return {directory, identity: await readIdentity(directory), next};
}

/** False for a dangling link: its target is missing. */
async function exists(path: BytePath): Promise<boolean> {
	try {
		await preferredCalls(path).stat(path);
		return true;
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false;
		throw error;
	}
}

async function readIdentity(path: BytePath): Promise<string> {
	return inodeKey(await preferredCalls(path).stat(path));
}

/** Inode, and of a file also size and times; changes inside a directory do not count. */
async function readContentIdentity(path: BytePath): Promise<string> {
	const stats = await preferredCalls(path).stat(path);
	return stats.isDirectory() ? inodeKey(stats) : `${inodeKey(stats)}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
}

function inodeKey({dev, ino}: Stats): string {
	return `${dev}:${ino}`;
}

function listDirectoriesAbove(paths: readonly BytePath[]): BytePath[] {
	const directories = new Set<BytePath>([ROOT]);
	for (const path of paths) {
		let directory: BytePath = ROOT;
		for (const name of splitPath(path).slice(0, -1)) {
			directory = joinPath(directory, name);
			directories.add(directory);
		}
	}
	return [...directories];
}
