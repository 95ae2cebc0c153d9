import type {Stats} from 'node:fs';

const ACCESS_OF_OTHERS = 0o077;
/** A file of another user, such as root, may be readable by a group on purpose. */
const ACCESS_OF_STRANGERS = 0o027;
const WRITING_BY_OTHERS = 0o022;
const STICKY = 0o1000;
const ROOT = 0;
const OF_ANOTHER_USER = 'it belongs to another user';

/** Why a file cannot hold a secret: others can read or change it. Pipes and devices are not judged. */
export function findSecrecyFault(stats: Stats, path: string): string | undefined {
	const forbidden = stats.uid === process.geteuid?.() ? ACCESS_OF_OTHERS : ACCESS_OF_STRANGERS;
	return describeFault(stats, forbidden, `open to others; try chmod 600 ${path}`);
}

/** Why a file cannot hold a secret that is used as our own: others can read or change it, or it is theirs. */
export function findOwnSecrecyFault(stats: Stats, path: string): string | undefined {
	return isOwn(stats) ? findSecrecyFault(stats, path) : OF_ANOTHER_USER;
}

/** Why the content of a file cannot be trusted as our own: others can change it, or it is theirs. */
export function findOwnIntegrityFault(stats: Stats, path: string): string | undefined {
	return isOwn(stats) ? findIntegrityFault(stats, path) : OF_ANOTHER_USER;
}

/** Why the content of a file cannot be trusted: others can change it. */
export function findIntegrityFault(stats: Stats, path: string): string | undefined {
	return describeFault(stats, WRITING_BY_OTHERS, `writable by others; try chmod go-w ${path}`);
}

/**
 * Why others could put a file into a directory, or replace the one of `ownerId` there. The sticky bit keeps them from
 * taking away what is not theirs.
 */
export function findDirectoryFault({mode, uid}: Stats, path: string, ownerId?: number): string | undefined {
	if ((mode & WRITING_BY_OTHERS) === 0) return undefined;
	if ((mode & STICKY) === 0) return `its directory is writable by others; try chmod go-w ${path}`;
	const isOurs = ownerId === undefined || ownerId === process.geteuid?.() || ownerId === uid || ownerId === ROOT;
	return isOurs ? undefined : `it belongs to another user, in the directory ${path} that others can write to`;
}

function isOwn({uid}: Stats): boolean {
	return uid === (process.geteuid?.() ?? uid) || uid === ROOT;
}

function describeFault(stats: Stats, forbidden: number, text: string): string | undefined {
	return stats.isFile() && (stats.mode & forbidden) !== 0 ? `it is ${text}` : undefined;
}
