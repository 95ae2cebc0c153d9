import {createHash} from 'node:crypto';
import {lstatSync, mkdirSync, readdirSync} from 'node:fs';
import {rm} from 'node:fs/promises';
import {basename, join, resolve} from 'node:path';
import {LongarmError} from '../../shared/errors.js';
import {randomHex} from '../../shared/random-id.js';
import type {EndedSpill} from './ended-spill.js';
import {findOwnershipFault, openOwnDirectory} from './own-directory.js';
import {type ProcessMeta, writeMeta} from './process-meta.js';
import {ProcessSpill} from './process-spill.js';
import {REMOVED_PREFIX, removeSpill} from './remove-spill.js';
import type {SpillOptions} from './spill-options.js';
import {isSystemError, PRIVATE_DIRECTORY_MODE, readTextFile, replaceFile, toStateError} from './state-files.js';
import {adoptLock, lockState, type StateLock} from './state-lock.js';
import {inspectProcess, type StoredProcess} from './stored-process.js';

/** Version of the format of a state directory. */
export const STATE_VERSION = 1;
/** Holds that version. */
export const VERSION_FILE = 'version';
const MAX_VERSION_BYTES = 64;
const PROCESSES = 'processes';
/** Left behind by a server that ended before it had written the version. */
const OWN_FILES = /^(?:lock|version)(?:\.\w+)?$/;
/** Ids that can be names of directories as they are. */
const PLAIN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export interface ScanOptions {
	/** Directories that are written to: nothing is cut off there. */
	readonly isInUse?: (directory: string) => boolean;
	readonly onDamaged?: (directory: string, error: LongarmError) => void;
}

export interface RetentionRules {
	/** Time after the end. */
	readonly maxAgeMs?: number;
	/** Bytes of all that have ended, together. */
	readonly maxTotalBytes?: number;
	readonly maxCount?: number;
	/** These are kept, and not counted. */
	readonly isInUse: (directory: string) => boolean;
	/** The present time, in milliseconds since 1970. */
	readonly nowMs: number;
}

/** The state directory of a server: its processes, running and ended. One server at a time uses it. */
export class ProcessStore {
	readonly directory: string;
	readonly #lock: StateLock;

	private constructor(directory: string, lock: StateLock) {
		this.directory = directory;
		this.#lock = lock;
	}

	/** Makes the directory if it is missing. Throws STATE_UNUSABLE with the reason. */
	static open(stateDirectory: string): ProcessStore {
		return openStore(stateDirectory, directory => new ProcessStore(directory, lockState(directory)));
	}

	/** Goes on with the lock of the program that this one has replaced. */
	static adopt(stateDirectory: string, lockDescriptor: number): ProcessStore {
		return openStore(stateDirectory, directory => new ProcessStore(directory, adoptLock(directory, lockDescriptor)));
	}

	get lockDescriptor(): number {
		return this.#lock.descriptor;
	}

	/** Path of the files of a process, whatever is in its id. */
	directoryFor(id: string): string {
		return join(this.directory, PROCESSES, toDirectoryName(id));
	}

	/** Begins to keep the output of a process. Another process with the same id, ended or not, stays as it is. */
	create(meta: ProcessMeta, options: SpillOptions = {}): ProcessSpill {
		const directory = this.directoryFor(meta.id);
		const isTaken = lstatSync(directory, {throwIfNoEntry: false}) !== undefined;
		return ProcessSpill.create(isTaken ? `${directory}~${randomHex(4)}` : directory, meta, options);
	}

	/** Goes on with the output of a process that still runs. */
	reopen(directory: string, options: SpillOptions = {}): ProcessSpill {
		return this.#use(directory, member => ProcessSpill.reopen(member, options));
	}

	openEnded(directory: string): EndedSpill {
		return this.#use(directory, member => ProcessSpill.openEnded(member));
	}

	updateMeta(directory: string, meta: ProcessMeta): void {
		this.#use(directory, member => writeMeta(member, meta));
	}

	/** All processes; those that cannot be read are left out and reported. */
	list({isInUse = () => false, onDamaged = () => {}}: ScanOptions = {}): StoredProcess[] {
		return this.#directories().flatMap(directory => {
			try {
				const found = inspectProcess(directory, {mayCut: !isInUse(directory)});
				const expected = toDirectoryName(found.id);
				const name = basename(directory);
				if (name === expected || name.startsWith(`${expected}~`)) return [found];
				throw new Error(`${join(directory, 'meta.json')} is damaged: the id is not that of the directory`);
			} catch (error) {
				onDamaged(directory, toStateError(error, directory));
				return [];
			}
		});
	}

	/** Forgets a process and its output; no-op if there is none. */
	remove(id: string): Promise<void> {
		return this.removeDirectory(this.directoryFor(id));
	}

	/** The same by the directory of an entry of `list`. It is gone at once, and its space soon. */
	async removeDirectory(directory: string): Promise<void> {
		try {
			await removeSpill(this.#checkMember(directory));
		} catch (error) {
			if (!isSystemError(error, 'ENOENT')) throw toStateError(error, directory);
		}
	}

	/** Removes processes that have ended, the oldest first, until the rules hold. Returns their directories. */
	async retain(rules: RetentionRules): Promise<string[]> {
		const damaged: string[] = [];
		const {isInUse, nowMs} = rules;
		const ended = [
			...this.list({isInUse, onDamaged: directory => damaged.push(directory)}),
			...damaged.map(directory => ({directory, bytes: 0, endedAtMs: lstatSync(directory).mtimeMs})),
		].filter(({directory}) => !isInUse(directory));
		ended.sort((a, b) => a.endedAtMs - b.endedAtMs);
		let count = ended.length;
		let total = ended.reduce((sum, {bytes}) => sum + bytes, 0);
		const removed: string[] = [];
		for (const {directory, bytes, endedAtMs} of ended) {
			const isOld = nowMs - endedAtMs > (rules.maxAgeMs ?? Number.POSITIVE_INFINITY);
			const isTooMuch = total > (rules.maxTotalBytes ?? Number.POSITIVE_INFINITY);
			if (!isOld && !isTooMuch && count <= (rules.maxCount ?? Number.POSITIVE_INFINITY)) break;
			await this.removeDirectory(directory);
			removed.push(directory);
			total -= bytes;
			count--;
		}
		return removed;
	}

	/** Lets another server in. */
	close(): void {
		this.#lock.release();
	}

	/** Paths of all processes. Links are none. */
	#directories(): string[] {
		const parent = join(this.directory, PROCESSES);
		const entries = readdirSync(parent, {withFileTypes: true});
		return entries.flatMap(entry =>
			entry.isDirectory() && !entry.name.startsWith(REMOVED_PREFIX) ? [join(parent, entry.name)] : [],
		);
	}

	#use<T>(directory: string, work: (member: string) => T): T {
		try {
			return work(this.#checkMember(directory));
		} catch (error) {
			throw toStateError(error, directory);
		}
	}

	/** Only directories of processes are opened or removed, whoever named them. */
	#checkMember(directory: string): string {
		const isMember = directory === join(this.directory, PROCESSES, basename(directory));
		if (isMember && !lstatSync(directory).isSymbolicLink()) return directory;
		throw new LongarmError('STATE_UNUSABLE', {message: `${directory} is no process of ${this.directory}`});
	}
}

function toDirectoryName(id: string): string {
	return PLAIN_ID.test(id) ? id : `_${createHash('sha256').update(id).digest('hex')}`;
}

function openStore(stateDirectory: string, lock: (directory: string) => ProcessStore): ProcessStore {
	const directory = resolve(stateDirectory);
	let store: ProcessStore | undefined;
	try {
		openOwnDirectory(directory);
		// Nothing is touched in a directory of another version, not even its lock.
		const isNew = !hasVersion(directory);
		store = lock(directory);
		if (isNew && !hasVersion(directory)) replaceFile(join(directory, VERSION_FILE), `${STATE_VERSION}\n`);
		prepareProcesses(join(directory, PROCESSES));
		return store;
	} catch (error) {
		store?.close();
		throw toStateError(error, directory);
	}
}

/** False for a new directory; throws for one of another version, and for one that is something else. */
function hasVersion(directory: string): boolean {
	let version: string;
	try {
		version = readTextFile(join(directory, VERSION_FILE), MAX_VERSION_BYTES).trim();
	} catch (error) {
		if (!isSystemError(error, 'ENOENT')) throw error;
		const others = readdirSync(directory).filter(name => !OWN_FILES.test(name));
		if (others.length > 0) throw new Error(`it has no file named ${VERSION_FILE}, but other ones`, {cause: error});
		return false;
	}
	if (version === String(STATE_VERSION)) return true;
	throw new Error(`its format is version ${JSON.stringify(version)}, and this program knows version ${STATE_VERSION}`);
}

/** Makes the directory of all processes, and finishes removals that were cut short. */
function prepareProcesses(parent: string): void {
	try {
		mkdirSync(parent, {mode: PRIVATE_DIRECTORY_MODE});
	} catch (error) {
		if (!isSystemError(error, 'EEXIST')) throw error;
	}
	const fault = findOwnershipFault(lstatSync(parent), parent);
	if (fault !== undefined) throw new Error(`${parent}: ${fault}`);
	for (const name of readdirSync(parent)) {
		if (name.startsWith(REMOVED_PREFIX)) rm(join(parent, name), {recursive: true, force: true}).catch(() => {});
	}
}
