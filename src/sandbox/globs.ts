import {isUtf8} from 'node:buffer';
import {accessSync, constants, type Dirent, statSync} from 'node:fs';
import {readdir} from 'node:fs/promises';
import {SharedTurns} from '../shared/node/shared-turns.js';
import {GlobMatcher} from './glob-matcher.js';
import {unenforceableError} from './plan.js';

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
/** A segment of a pattern that leads up, on its own or in braces. */
const PARENT_SEGMENT = /(?:^|[/{,])\.\.(?:$|[/},])/;
/** Errors of a directory that is gone. */
const GONE_CODES: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

/** Of all scans of this program: hundreds at once must not hold up others either. */
const turns = new SharedTurns();

/** Steps that are left for the patterns of one policy. */
export interface GlobBudget {
	steps: number;
}

/**
 * Current matches of an absolute glob, without following links; a directory that matches is not entered. Throws for a match
 * that cannot be mounted over, and for a directory that cannot be listed although a sandboxed process could enter it.
 */
export async function findGlobMatches(
	pattern: string,
	maxDepth: number = Number.POSITIVE_INFINITY,
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
	const queue = [{path: Buffer.from(base) as Buffer, depth: 1, states: matcher.start}];
	let examined = 0;
	// Also iterates over what is pushed meanwhile.
	for (const {path, depth, states} of queue) {
		const entries = await listEntries(path);
		await turns.next();
		for (const entry of entries) {
			if (turns.isOver) await turns.next();
			if (++examined > MAX_GLOB_ENTRIES) throw tooMuch();
			spend(STEPS_PER_ENTRY);
			const reached = matcher.advance(states, entry.name.toString(), spend);
			const below = matcher.advance(reached, '/', spend);
			// A slash at the end of a pattern changes nothing.
			if ([reached, below].some(each => matcher.isMatch(each, entry.isDirectory()))) {
				found.push(requireText(joinPath(path, entry.name)));
				if (found.length > MAX_GLOB_MATCHES) throw unenforceableError(`too much matches the pattern \`${pattern}\``);
			} else if (entry.isDirectory() && depth < maxDepth && below.length > 0) {
				queue.push({path: joinPath(path, entry.name), depth: depth + 1, states: below});
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
	if (PARENT_SEGMENT.test(glob)) throw unenforceableError(`the pattern \`${pattern}\` leads up behind a wildcard`);
	try {
		return new GlobMatcher(glob.replaceAll(/\/(?:\.?\/)+/g, '/'));
	} catch (error) {
		if (error instanceof SyntaxError) throw unenforceableError(`the pattern \`${pattern}\` is none: ${error.message}`);
		throw error;
	}
}

function joinPath(directory: Buffer, name: Buffer): Buffer {
	return Buffer.concat([directory, Buffer.from('/'), name]);
}

/** Path as text, which mounts need. */
function requireText(path: Buffer): string {
	if (isUtf8(path)) return path.toString();
	throw unenforceableError(`\`${path.toString()}\` has to be hidden, and its path is not UTF-8`);
}

/** Names as bytes: text would lead to nothing where they are not UTF-8. */
async function listEntries(path: Buffer): Promise<Dirent<Buffer>[]> {
	const directory = path.length === 0 ? Buffer.from('/') : path;
	try {
		return await readdir(directory, {withFileTypes: true, encoding: 'buffer'});
	} catch (error) {
		const {code = ''} = error as NodeJS.ErrnoException;
		if (GONE_CODES.has(code) || (code === 'EACCES' && !isEnterable(directory))) return [];
		throw unenforceableError(`\`${directory.toString()}\` cannot be listed (${code}), and something in it may match`);
	}
}

/** True if names in a directory that cannot be listed can be used, or its owner can change that. */
function isEnterable(directory: Buffer): boolean {
	try {
		if (statSync(directory).uid === process.geteuid?.()) return true;
		accessSync(directory, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}
