import {isUtf8} from 'node:buffer';
import {closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {unenforceableError} from './plan.js';

/** Bytes read of a file that names another one; a path has at most as many. */
const MAX_TEXT_BYTES = 4096;

/** Links followed before a path counts as a loop; the kernel's own number. */
const MAX_LINKS = 40;

/** Errors of a path that leads to nothing that this user can reach. */
const ABSENCE_CODES: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP']);
/** Links of processes: `cwd`, `root`, `exe`, and those in directories such as `fd`. */
const PROCESS_LINK = /^\/proc\/\d+\//;

export interface LocatedPath {
	/** Without symbolic links. */
	readonly path: string;
	readonly kind: 'file' | 'directory';
	/** Symbolic links that were followed. */
	readonly links: readonly SymbolicLink[];
}

export interface SymbolicLink {
	/** Path of the link itself, without links above it. */
	readonly path: string;
	/** Target as stored in the link. */
	readonly to: string;
}

export type ResolvedPath = ({readonly found: true} & LocatedPath) | {readonly found: false; readonly path: string};

/** Facts about the machine that a policy depends on. An interface, so that tests can resolve policies without one. */
export interface Host {
	/** Resolves the links of a path; of a path that does not exist, as far as something exists. */
	locate(path: string): ResolvedPath;
	/** Matches of a glob, which were found before. */
	findMatches(pattern: string, maxDepth: number | undefined): readonly string[];
	/** The beginning of a regular file; undefined if there is none that can be read. */
	readText(path: string): string | undefined;
}

/**
 * Resolves a path component by component and records the links, which the plan has to reproduce or protect. `onLookup` is
 * called before each look at the disk and may throw: a few links can make a short path a very long one.
 */
export function locatePath(path: string, onLookup: (path: string) => void = () => {}): ResolvedPath {
	const links: SymbolicLink[] = [];
	const steps = path.split('/').filter(Boolean);
	let real = '/';
	let kind: LocatedPath['kind'] = 'directory';
	for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
		if (step === '.') continue;
		if (step === '..') {
			real = dirname(real);
			continue;
		}
		const next = join(real, step);
		onLookup(next);
		const entry = lstatOrUndefined(next);
		if (!entry || links.length > MAX_LINKS) return {found: false, path: join(next, ...steps)};
		if (entry.isSymbolicLink()) {
			const to = readLink(next);
			links.push({path: next, to});
			if (to.startsWith('/')) real = '/';
			steps.unshift(...to.split('/').filter(Boolean));
			continue;
		}
		real = next;
		kind = entry.isDirectory() ? 'directory' : 'file';
		if (kind === 'file' && steps.length > 0) return {found: false, path: join(real, ...steps)};
	}
	return {found: true, path: real, kind, links};
}

function lstatOrUndefined(path: string) {
	try {
		return lstatSync(path, {throwIfNoEntry: false});
	} catch (error) {
		const {code = ''} = error as NodeJS.ErrnoException;
		// Inaccessible to this user, and so to the sandboxed program, too.
		if (ABSENCE_CODES.has(code)) return undefined;
		// Such as a path that is too long: it may lead somewhere, step by step.
		throw unenforceableError(`\`${path}\` cannot be examined (${code})`);
	}
}

/**
 * Target of a link, which mounts need as text. A process decides where the links below its directory in `/proc` lead, and the
 * kernel does not follow their text.
 */
function readLink(path: string): string {
	if (PROCESS_LINK.test(path)) throw unenforceableError(`\`${path}\` leads to where a process decides`);
	const target = readlinkSync(path, 'buffer');
	if (!isUtf8(target)) throw unenforceableError(`the target of the link \`${path}\` is not UTF-8`);
	return target.toString();
}

/** Waits for no FIFO and no device, and follows no link: one below `/proc` leads to mounts that may never answer. */
export function readSmallText(path: string): string | undefined {
	let fd: number | undefined;
	try {
		const place = locatePath(path);
		if (!place.found || place.kind !== 'file') return undefined;
		fd = openSync(place.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
		if (!fstatSync(fd).isFile()) return undefined;
		const bytes = Buffer.alloc(MAX_TEXT_BYTES);
		return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0));
	} catch {
		return undefined;
	} finally {
		if (fd !== undefined) closeSync(fd);
	}
}
