import {lstatSync, realpathSync} from 'node:fs';
import {dirname} from 'node:path';
import {isExecutable} from '../shared/node/access.js';

/** Write permission of the group and of others. */
const FOREIGN_WRITE_BITS = 0o022;
/** In a directory with this bit only their owner, which is root here, may rename or remove entries. */
const STICKY_DIRECTORY = 0o041000;
const TYPE_AND_STICKY_BITS = 0o171000;

/** Reads the owner and the mode of a path. A parameter, so that tests can tell of files that only root could make. */
export type ReadOwner = (path: string) => {readonly uid: number; readonly mode: number};

/**
 * The first of these programs that only root can replace, without symbolic links in its path. For programs that run
 * outside of a sandbox whatever is inside: nobody who may write somewhere may decide what they are.
 */
export function findTrustedProgram(
	files: readonly string[],
	readOwner: ReadOwner = lstatSync,
): {readonly file: string} | {readonly why: string} {
	let why = `\`${files[0]}\` was not found`;
	for (const file of files) {
		if (!isExecutable(file)) continue;
		const real = realpathSync(file);
		const loose = listWithParents(real).find(path => !isOwnedByRootAlone(readOwner(path)));
		if (loose === undefined) return {file: real};
		why = `\`${file}\` is not used: others than root may change \`${loose}\``;
	}
	return {why};
}

function isOwnedByRootAlone({uid, mode}: ReturnType<ReadOwner>): boolean {
	return uid === 0 && ((mode & FOREIGN_WRITE_BITS) === 0 || (mode & TYPE_AND_STICKY_BITS) === STICKY_DIRECTORY);
}

/** The path and every directory above it. */
function listWithParents(path: string): string[] {
	const parent = dirname(path);
	return parent === path ? [path] : [path, ...listWithParents(parent)];
}
