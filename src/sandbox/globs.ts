import {readdirSync} from 'node:fs';
import picomatch from 'picomatch';
import {unenforceable} from './refusals.js';

/** How deep is looked when the policy does not say. */
export const USUAL_GLOB_DEPTH = 16;
/** Entries looked at, and matches hidden, for one pattern. */
export const MAX_ENTRIES = 100_000;
export const MAX_GLOB_MATCHES = 1000;

/** Every entry an absolute glob names right now, without following links; what matches as a whole is not entered. */
export function globMatches(pattern: string, maxDepth: number = USUAL_GLOB_DEPTH): string[] {
	const {base, glob} = picomatch.scan(pattern);
	if (glob === '') return [pattern];
	const isMatch = picomatch(pattern, {dot: true, posix: true});
	const found: string[] = [];
	const queue = [{path: base.replace(/\/$/, ''), depth: 1}];
	let looked = 0;
	for (let next = queue.shift(); next; next = queue.shift()) {
		for (const entry of entriesOf(next.path)) {
			if (++looked > MAX_ENTRIES) throw unenforceable(`too much has to be looked at for the pattern \`${pattern}\``);
			const path = `${next.path}/${entry.name}`;
			if (isMatch(path)) found.push(path);
			else if (entry.isDirectory() && next.depth < maxDepth) queue.push({path, depth: next.depth + 1});
		}
		if (found.length > MAX_GLOB_MATCHES) throw unenforceable(`too much matches the pattern \`${pattern}\``);
	}
	return found;
}

function entriesOf(path: string) {
	try {
		return readdirSync(path === '' ? '/' : path, {withFileTypes: true});
	} catch {
		return [];
	}
}
