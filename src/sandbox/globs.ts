import {readdirSync} from 'node:fs';
import picomatch from 'picomatch';
import {unenforceableError} from './plan.js';

/** Depth of the scan if the policy names none. */
export const DEFAULT_GLOB_DEPTH = 16;
/** Directory entries examined for one pattern. */
export const MAX_GLOB_ENTRIES = 100_000;
/** Matches of one pattern, each of which is a mount. */
export const MAX_GLOB_MATCHES = 1000;

/** Current matches of an absolute glob, without following links; a directory that matches is not entered. */
export function findGlobMatches(pattern: string, maxDepth: number = DEFAULT_GLOB_DEPTH): string[] {
	const {base, glob} = picomatch.scan(pattern);
	if (glob === '') return [pattern];
	const isMatch = picomatch(pattern, {dot: true, posix: true});
	const found: string[] = [];
	const queue = [{path: base.replace(/\/$/, ''), depth: 1}];
	let examined = 0;
	for (let next = queue.shift(); next; next = queue.shift()) {
		for (const entry of listEntries(next.path)) {
			if (++examined > MAX_GLOB_ENTRIES)
				throw unenforceableError(`too much has to be looked at for the pattern \`${pattern}\``);
			const path = `${next.path}/${entry.name}`;
			if (isMatch(path)) found.push(path);
			else if (entry.isDirectory() && next.depth < maxDepth) queue.push({path, depth: next.depth + 1});
		}
		if (found.length > MAX_GLOB_MATCHES) throw unenforceableError(`too much matches the pattern \`${pattern}\``);
	}
	return found;
}

function listEntries(path: string) {
	try {
		return readdirSync(path === '' ? '/' : path, {withFileTypes: true});
	} catch {
		return [];
	}
}
