import {renameSync} from 'node:fs';
import {rm} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {randomHex} from '../../shared/random-id.js';
import {isSystemError} from './state-files.js';

/** No directory of a process begins like this. */
export const REMOVED_PREFIX = '_removed-';
const RANDOM_BYTES = 8;

/** Removes the directory of a process: out of sight first, so that an end in between leaves no half of it behind. */
export async function removeSpill(directory: string): Promise<void> {
	const removed = join(dirname(directory), `${REMOVED_PREFIX}${randomHex(RANDOM_BYTES)}`);
	try {
		renameSync(directory, removed);
	} catch (error) {
		if (isSystemError(error, 'ENOENT')) return;
		throw error;
	}
	await rm(removed, {recursive: true, force: true});
}
