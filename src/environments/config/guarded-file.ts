import {open, realpath, stat} from 'node:fs/promises';
import {dirname} from 'node:path';
import {findDirectoryFault, findIntegrityFault, findSecrecyFault} from '../../shared/node/private-file.js';

/** Content of a file that others could not have written. */
export interface GuardedFile {
	readonly text: string;
	/** Why it must not hold a secret: others can read it. */
	readonly secrecyFault: string | undefined;
	readonly owner: {readonly uid: number; readonly gid: number};
}

/**
 * Reads a file that names programs to start. Throws if others can write to it, or could have put it there; ENOENT if it is
 * not there.
 */
export async function readGuardedFile(path: string): Promise<GuardedFile> {
	const file = await open(path, 'r');
	try {
		const stats = await file.stat();
		const fault = findIntegrityFault(stats, path) ?? (await findPlaceFault(path, stats.uid));
		if (fault !== undefined) throw new Error(fault);
		const text = await file.readFile('utf8');
		return {text, secrecyFault: findSecrecyFault(stats, path), owner: stats};
	} finally {
		await file.close();
	}
}

/** Why others could put a file there, or replace that of `ownerId`; of a link its own place counts and that of its target. */
export async function findPlaceFault(path: string, ownerId?: number): Promise<string | undefined> {
	const target = await realpath(path).catch(() => path);
	for (const directory of new Set([dirname(path), dirname(target)])) {
		const fault = findDirectoryFault(await stat(directory), directory, ownerId);
		if (fault !== undefined) return fault;
	}
	return undefined;
}
