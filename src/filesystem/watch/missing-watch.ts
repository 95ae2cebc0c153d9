import {type FSWatcher, type Stats, watch} from 'node:fs';
import {type BytePath, childOf, parentOf, ROOT, segmentsOf, toSystem} from '../byte-path.js';
import {isErrno} from '../file-errors.js';
import {preferredCalls} from '../syscalls.js';
import {countEvent, onDropped} from './event-queue.js';

/** More paths, or more directories above them, are not watched. */
const MAX_PATHS = 1024;
const MAX_DIRECTORIES = 1024;
/** A busy directory makes us look at most this often. */
const LOOK_EVERY_MS = 20;

export interface MissingRequest {
	readonly missing: readonly BytePath[];
	readonly present: BytePath | undefined;
}

/** What was the case when the watch began. */
interface Missing {
	/** The deepest directory on the way that exists, and which one it is. */
	readonly directory: BytePath;
	readonly identity: string;
	/** The first component that is missing. */
	readonly next: BytePath;
}

interface Present {
	readonly path: BytePath;
	readonly identity: string;
}

/**
 * Tells once when one of the missing paths, or a missing directory above one, appears, or when the present path
 * changes. Every directory above is watched, so that one that is replaced as a whole is noticed too. A watch begins
 * with `begin`, which is undefined when it is impossible or what should be missing is there.
 */
export class MissingPathsWatch {
	readonly #missing: readonly Missing[];
	readonly #present: Present | undefined;
	readonly #changed: () => void;
	readonly #watchers: FSWatcher[] = [];
	readonly #stopListening: () => void;
	#look: NodeJS.Timeout | undefined;
	#isClosed = false;

	static async begin(request: MissingRequest, changed: () => void): Promise<MissingPathsWatch | undefined> {
		const {missing, present} = request;
		if (missing.length === 0 || missing.length > MAX_PATHS) return undefined;
		const before = await lookAtAll(request);
		const directories = directoriesAbove(present === undefined ? missing : [...missing, present]);
		if (!before || directories.length > MAX_DIRECTORIES) return undefined;
		const begun = new MissingPathsWatch(before, changed);
		// What happened before the last watcher was in place was heard by none of them.
		if (begun.#listen(directories) && (await begun.#isUnchanged())) return begun;
		begun.end();
		return undefined;
	}

	private constructor(before: {missing: Missing[]; present: Present | undefined}, changed: () => void) {
		this.#missing = before.missing;
		this.#present = before.present;
		this.#changed = changed;
		this.#stopListening = onDropped(() => this.#lookSoon());
	}

	end(): void {
		this.#isClosed = true;
		clearTimeout(this.#look);
		this.#stopListening();
		for (const watcher of this.#watchers) watcher.close();
	}

	/** False when the system has no watches left. */
	#listen(directories: readonly BytePath[]): boolean {
		for (const directory of directories) {
			try {
				const watcher = watch(toSystem(directory), {persistent: false}, () => {
					countEvent();
					this.#lookSoon();
				});
				watcher.on('error', () => this.#tell());
				this.#watchers.push(watcher);
			} catch (error) {
				// It may not be there, or nobody may look into it: then the one above tells.
				if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return false;
			}
		}
		return true;
	}

	#lookSoon(): void {
		this.#look ??= setTimeout(() => {
			this.#look = undefined;
			void this.#lookNow();
		}, LOOK_EVERY_MS).unref();
	}

	async #lookNow(): Promise<void> {
		if (!(await this.#isUnchanged())) this.#tell();
	}

	#tell(): void {
		if (this.#isClosed) return;
		this.end();
		this.#changed();
	}

	async #isUnchanged(): Promise<boolean> {
		try {
			for (const {directory, identity, next} of this.#missing) {
				if ((await identityOf(directory)) !== identity || (await exists(next))) return false;
			}
			const present = this.#present;
			return !present || (await contentIdentityOf(present.path)) === present.identity;
		} catch {
			return false;
		}
	}
}

/** Undefined when a path that should be missing exists, or the other way round. */
async function lookAtAll(
	request: MissingRequest,
): Promise<{missing: Missing[]; present: Present | undefined} | undefined> {
	try {
		const missing: Missing[] = [];
		for (const path of request.missing) {
			if (await exists(path)) return undefined;
			missing.push(await deepestExisting(path));
		}
		const path = request.present;
		return {missing, present: path === undefined ? undefined : {path, identity: await contentIdentityOf(path)}};
	} catch {
		return undefined;
	}
}

async function deepestExisting(path: BytePath): Promise<Missing> {
	let next = path;
	while (!(await exists(parentOf(next)))) next = parentOf(next);
	const directory = parentOf(next);
	return {directory, identity: await identityOf(directory), next};
}

/** A link that leads nowhere is there, but what it should lead to is missing. */
async function exists(path: BytePath): Promise<boolean> {
	try {
		await preferredCalls().stat(path);
		return true;
	} catch (error) {
		if (isErrno(error, 'ENOENT', 'ENOTDIR')) return false;
		throw error;
	}
}

async function identityOf(path: BytePath): Promise<string> {
	return nameOfInode(await preferredCalls().stat(path));
}

/** Of a directory only which one it is: what is put into it does not count. */
async function contentIdentityOf(path: BytePath): Promise<string> {
	const stats = await preferredCalls().stat(path);
	return stats.isDirectory()
		? nameOfInode(stats)
		: `${nameOfInode(stats)}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
}

function nameOfInode({dev, ino}: Stats): string {
	return `${dev}:${ino}`;
}

function directoriesAbove(paths: readonly BytePath[]): BytePath[] {
	const directories = new Set<BytePath>([ROOT]);
	for (const path of paths) {
		let directory: BytePath = ROOT;
		for (const name of segmentsOf(path).slice(0, -1)) {
			directory = childOf(directory, name);
			directories.add(directory);
		}
	}
	return [...directories];
}
