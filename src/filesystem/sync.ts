import {constants} from 'node:fs';
import type {BytePath} from './byte-path.js';
import {isErrno} from './file-errors.js';
import {asyncCalls, type FileCalls} from './syscalls.js';

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;
/** Syncs at a time: a disk makes several of them one, and a thread of the four that Node has is left to others. */
const MAX_SYNCS_UNDER_WAY = 3;

/** Makes the entries of a directory survive a power cut: their names, not their contents. */
export async function syncDirectory(calls: FileCalls, directory: BytePath): Promise<void> {
	const fd = await calls.open(directory, OPEN_DIRECTORY);
	try {
		await asyncCalls.sync(fd);
	} catch (error) {
		// Some file systems cannot sync a directory.
		if (!isErrno(error, 'EINVAL')) throw error;
	} finally {
		await calls.close(fd);
	}
}

/** Steps that wait for the disk, several at a time, by the name of what they make. No step may throw. */
export class SyncQueue {
	readonly #underWay = new Map<string, Promise<void>>();

	/** Starts the step when there is capacity, and when an earlier one of that name is over. */
	async add(name: string, step: () => Promise<void>): Promise<void> {
		await this.#underWay.get(name);
		while (this.#underWay.size >= MAX_SYNCS_UNDER_WAY) await Promise.race(this.#underWay.values());
		this.#underWay.set(
			name,
			step().finally(() => this.#underWay.delete(name)),
		);
	}

	/** Waits for the step of that name. */
	async waitFor(name: string): Promise<void> {
		await this.#underWay.get(name);
	}

	/** Waits for all steps. */
	async drain(): Promise<void> {
		await Promise.all(this.#underWay.values());
	}
}
