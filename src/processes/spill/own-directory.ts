import {lstatSync, type Stats} from 'node:fs';
import {dirname} from 'node:path';
import {findDirectoryFault} from '../../shared/node/private-file.js';
import {makeDirectories} from './state-files.js';

const WRITING_BY_OTHERS = 0o022;
const ROOT = 0;

/**
 * Makes a directory for state if it is missing. Throws for one that belongs to another user, that others can write to or
 * replace, and for a link.
 */
export function openOwnDirectory(directory: string): void {
	makeDirectories(directory);
	requireOwner(directory, process.geteuid?.());
}

/**
 * Throws for a directory that a command about state must not use, for the reasons above; a missing one is left alone. Root may
 * look after the state of any user.
 */
export function requireOwnDirectory(directory: string): void {
	const stats = lstatSync(directory, {throwIfNoEntry: false});
	if (stats) requireOwner(directory, process.geteuid?.() === ROOT ? stats.uid : process.geteuid?.());
}

function requireOwner(directory: string, owner: number | undefined): void {
	const stats = lstatSync(directory);
	const parent = dirname(directory);
	const fault = findOwnershipFault(stats, directory, owner) ?? findDirectoryFault(lstatSync(parent), parent, stats.uid);
	if (fault !== undefined) throw new Error(fault);
}

/** Why a directory cannot hold state: it is not a directory, is not ours, or others can write to it. */
export function findOwnershipFault(
	stats: Stats,
	path: string,
	owner: number | undefined = process.geteuid?.(),
): string | undefined {
	if (!stats.isDirectory()) return 'it is not a directory, or a link to one';
	if (stats.uid !== (owner ?? stats.uid)) return 'it belongs to another user';
	return (stats.mode & WRITING_BY_OTHERS) === 0 ? undefined : `it is writable by others; try chmod go-w ${path}`;
}
