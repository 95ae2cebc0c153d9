import {lstatSync, readlinkSync} from 'node:fs';
import {dirname, join} from 'node:path';

/** Links followed before a path counts as a loop; the kernel's own number. */
const MAX_LINKS = 40;

export interface Located {
	/** Without symbolic links. */
	readonly path: string;
	readonly kind: 'file' | 'directory';
	/** The symbolic links on the way. */
	readonly links: readonly Link[];
}

export interface Link {
	/** Its own real place. */
	readonly path: string;
	/** As it is written in it. */
	readonly to: string;
}

export type ResolvedPath = ({readonly found: true} & Located) | {readonly found: false; readonly path: string};

/** What a policy has to know about the machine. An interface, so that policies can be resolved without one. */
export interface Host {
	/** Where a path leads; of one that leads nowhere, the real place at which something is missing. */
	locate(path: string): ResolvedPath;
	/** The files and directories a glob names right now, real paths. Throws when there is too much to look at. */
	matches(pattern: string, maxDepth: number | undefined): readonly string[];
	/** What `tmpdir` stands for when the caller does not say. */
	readonly temporaryDirectory: string | undefined;
}

/** Follows a path step by step, because the links on the way matter as much as its end. */
export function locate(path: string): ResolvedPath {
	const links: Link[] = [];
	const steps = path.split('/').filter(Boolean);
	let real = '/';
	let kind: Located['kind'] = 'directory';
	for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
		if (step === '.') continue;
		if (step === '..') {
			real = dirname(real);
			continue;
		}
		const next = join(real, step);
		const entry = look(next);
		if (!entry || links.length > MAX_LINKS) return {found: false, path: join(next, ...steps)};
		if (entry.isSymbolicLink()) {
			const to = readlinkSync(next);
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

function look(path: string) {
	try {
		return lstatSync(path, {throwIfNoEntry: false});
	} catch {
		// Not ours to look at, and so not there for what runs as us either.
		return undefined;
	}
}
