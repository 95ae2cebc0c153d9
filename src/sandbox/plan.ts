import {LongarmError} from '../shared/errors.js';

/** Trees the sandbox mounts anew, whatever the view shows of the host. */
export const OWN_TREES: readonly string[] = ['/dev', '/proc'];
/** Names in its `/dev`: devices of the host, and of those it makes itself the directories. */
export const OWN_DEVICES: readonly string[] = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
export const OWN_DEVICE_DIRECTORIES: readonly string[] = ['shm', 'pts'];

/** Mount of the sandboxed view. Later mounts cover earlier ones. */
export type Mount =
	/** The host's file or tree, read-only or writable. */
	| {readonly kind: 'read' | 'write'; readonly path: string}
	/** Unreadable file, which is empty, or directory; the latter can be passed through to mounts below it. */
	| {readonly kind: 'hidden'; readonly path: string; readonly fileType: 'file' | 'directory'}
	/** An empty writable directory in memory, which ends with the sandbox and shows nothing of the host's. */
	| {readonly kind: 'private'; readonly path: string}
	/** The host's directory where it is anyway, as a mount point, so that it cannot be renamed. */
	| {readonly kind: 'pin'; readonly path: string}
	/** A symbolic link, where the view does not show the directory that holds the host's own. */
	| {readonly kind: 'link'; readonly path: string; readonly to: string};

/** Resolved policy: every path is absolute, free of links and exists. */
export interface SandboxPlan {
	/** In the order of mounting: deeper ones later. A view that does not begin with `/` begins empty. */
	readonly mounts: readonly Mount[];
	readonly network: 'none' | 'host';
}

export type Access = 'read' | 'write' | 'none';

/** Program to be run in a sandbox. */
export interface SandboxedCommand {
	/** As the caller named it: with a slash, or looked for along PATH. */
	readonly program: string;
	readonly args: readonly string[];
	/** Value of argv[0], if it is not the name of the program. */
	readonly arg0: string | undefined;
	/** Absolute; undefined if it is not UTF-8. */
	readonly cwd: string | undefined;
	readonly terminal: boolean;
	/** Its variables, of which the wrapper itself gets none. */
	readonly environment: ReadonlyMap<string, string>;
	/** Descriptor of the wrapper that the command inherits, besides the standard streams. */
	readonly inheritedFd?: number | undefined;
}

/** A file or directory without links in its path, and the descriptor by which the wrapper finds it. */
export interface HeldPath {
	readonly fd: number;
	readonly path: string;
}

/** Wrapper program that sets up the sandbox and runs the command in it. */
export interface WrappedCommand {
	readonly file: string;
	readonly argv: readonly string[];
	/** Contents it expects to read from descriptor 3 and on. */
	readonly descriptors: readonly Uint8Array[];
	/** Further descriptors, above all others, from which it expects to read nothing. */
	readonly emptyDescriptors?: readonly number[];
	/** Descriptors, above these, of files and directories, so that nothing that is put in their place is taken for them. */
	readonly heldPaths?: readonly HeldPath[];
	/** The first of these contents is the wrapper itself, and `file` names its descriptor. */
	readonly isInMemory?: boolean;
	/** True if the command leads a session of its own below the wrapper. */
	readonly hasOwnSession: boolean;
}

/** Access the plan allows to the host's file at a path without links: that of the nearest mount at or above it. */
export function accessAt({mounts}: SandboxPlan, path: string): Access {
	return nearestAccess(indexMounts(mounts), path);
}

/** The same by the access at each mount; takes time by the depth of the path, not by the number of mounts. */
export function nearestAccess(accesses: ReadonlyMap<string, Access>, path: string): Access {
	for (let at = path; ; at = at.slice(0, at.lastIndexOf('/')) || '/') {
		const access = accesses.get(at);
		if (access !== undefined || at === '/') return access ?? 'none';
	}
}

const indexes = new WeakMap<
	readonly Mount[],
	{readonly size: number; readonly accesses: ReadonlyMap<string, Access>}
>();

function indexMounts(mounts: readonly Mount[]): ReadonlyMap<string, Access> {
	const known = indexes.get(mounts);
	// A list may have grown since.
	if (known?.size === mounts.length) return known.accesses;
	const accesses = new Map<string, Access>();
	for (const {kind, path} of mounts) {
		if (kind === 'link' || kind === 'pin') continue;
		accesses.set(path, kind === 'hidden' || kind === 'private' ? 'none' : kind);
	}
	indexes.set(mounts, {size: mounts.length, accesses});
	return accesses;
}

/** True if the plan restricts no file. */
export function allowsAllFiles({mounts}: SandboxPlan): boolean {
	return mounts.length === 1 && mounts[0]!.kind === 'write' && mounts[0]!.path === '/';
}

/** True if `path` is `directory` or below it; both absolute and normal. */
export function isMountWithin(path: string, directory: string): boolean {
	return directory === '/' || path === directory || path.startsWith(`${directory}/`);
}

/** Order of mounting: parents before children. */
export function compareByDepth(a: {readonly path: string}, b: {readonly path: string}): number {
	return countSegments(a.path) - countSegments(b.path) || (a.path < b.path ? -1 : 1);
}

/** For a policy, or a part of one, that would not really be enforced here. */
export function unenforceableError(why: string): LongarmError {
	return new LongarmError('NOT_SUPPORTED', {message: `sandbox intent cannot be enforced on this executor: ${why}`});
}

/** For a policy that cannot be resolved: a path is invalid, or the directory relative paths start from is missing. */
export function invalidPolicyError(message: string): LongarmError {
	return new LongarmError('SANDBOX_INVALID', {message});
}

function countSegments(path: string): number {
	return path === '/' ? 0 : path.split('/').length - 1;
}
