import {readdir} from 'node:fs/promises';
import {SharedTurns} from '../shared/node/shared-turns.js';
import {GlobMatcher} from './glob-matcher.js';
import {unenforceableError} from './plan.js';

/** Depth of the scan if the policy names none. */
export const DEFAULT_GLOB_DEPTH = 16;
/** Directory entries examined for one pattern. */
export const MAX_GLOB_ENTRIES = 100_000;
/** Matches of one pattern, each of which is a mount. */
export const MAX_GLOB_MATCHES = 1000;
/** Characters of a pattern. */
export const MAX_GLOB_CHARACTERS = 1024;
/** Steps of the matcher for all patterns of a policy together: a few seconds. */
export const MAX_GLOB_STEPS = 100_000_000;
/** Steps that the look at one entry counts for, besides its name. */
const STEPS_PER_ENTRY = 20;
const SPECIAL_CHARACTERS = /[*?[{]/;

/** Of all scans of this program: hundreds at once must not hold up others either. */
const turns = new SharedTurns();

/** Steps that are left for the patterns of one policy. */
export interface GlobBudget {
	steps: number;
}

/** Current matches of an absolute glob, without following links; a directory that matches is not entered. */
export async function findGlobMatches(
	pattern: string,
	maxDepth: number = DEFAULT_GLOB_DEPTH,
	budget: GlobBudget = {steps: MAX_GLOB_STEPS},
): Promise<string[]> {
	const {base, glob} = splitBase(pattern);
	if (glob === undefined) return [base];
	const matcher = compileGlob(glob, pattern);
	const tooMuch = () => unenforceableError(`too much has to be looked at for the pattern \`${pattern}\``);
	const spend = (steps: number): void => {
		budget.steps -= steps;
		if (budget.steps < 0) throw tooMuch();
	};
	const found: string[] = [];
	const queue = [{path: base, depth: 1, states: matcher.start}];
	let examined = 0;
	// Also iterates over what is pushed meanwhile.
	for (const {path, depth, states} of queue) {
		const entries = await listEntries(path);
		await turns.next();
		for (const entry of entries) {
			if (turns.isOver) await turns.next();
			if (++examined > MAX_GLOB_ENTRIES) throw tooMuch();
			spend(STEPS_PER_ENTRY);
			const reached = matcher.advance(states, entry.name, spend);
			if (matcher.isMatch(reached, entry.isDirectory())) {
				found.push(`${path}/${entry.name}`);
				if (found.length > MAX_GLOB_MATCHES) throw unenforceableError(`too much matches the pattern \`${pattern}\``);
			} else if (entry.isDirectory() && depth < maxDepth) {
				const below = matcher.advance(reached, '/', spend);
				if (below.length > 0) queue.push({path: `${path}/${entry.name}`, depth: depth + 1, states: below});
			}
		}
	}
	return found;
}

/** The directory that the leading segments without special characters name, and the rest, if there is one. */
function splitBase(pattern: string): {base: string; glob: string | undefined} {
	const segments = pattern.split('/');
	const first = segments.findIndex(segment => SPECIAL_CHARACTERS.test(segment.replaceAll(/\\./gu, '')));
	const literal = first < 0 ? segments : segments.slice(0, first);
	return {
		base: literal.join('/').replaceAll(/\\(.)/gu, '$1'),
		glob: first < 0 ? undefined : segments.slice(first).join('/'),
	};
}

function compileGlob(glob: string, pattern: string): GlobMatcher {
	if (glob.length > MAX_GLOB_CHARACTERS) throw unenforceableError('a pattern is too long');
	try {
		return new GlobMatcher(glob);
	} catch (error) {
		if (error instanceof SyntaxError) throw unenforceableError(`the pattern \`${pattern}\` is none: ${error.message}`);
		throw error;
	}
}

async function listEntries(path: string) {
	try {
		return await readdir(path === '' ? '/' : path, {withFileTypes: true});
	} catch {
		return [];
	}
}
