import picomatch from 'picomatch';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {BytePath} from '../byte-path.js';

export const USUAL_MATCHES = 10_000;
export const MAX_SEARCH_MATCHES = 1_000_000;

/** What to look for. Plain data: it travels to another thread. */
export interface SearchRequest {
	readonly root: BytePath;
	/** Globs for the path below the root, or, without a slash, for the name; none means everything. */
	readonly names: readonly string[];
	/** What is left out, in the language of `.gitignore`. */
	readonly exclude: readonly string[];
	/** Lines to look for in files; without it names are all that is looked at. */
	readonly contents: ContentsQuery | undefined;
	/** Whether names that begin with a dot count. */
	readonly hidden: boolean;
	/** Whether `.gitignore` and `.ignore` are respected. */
	readonly ignoreFiles: boolean;
	readonly maxMatches: number;
}

export interface ContentsQuery {
	readonly pattern: string;
	/** An expression of JavaScript; else the text itself. */
	readonly regex: boolean;
	readonly ignoreCase: boolean;
}

/** Whether a path below the root is one of those looked for. */
export type MatchesName = (relative: string, name: string) => boolean;

export function compileNames(globs: readonly string[]): MatchesName {
	if (globs.length === 0) return () => true;
	const matchers = globs.map(glob => ({
		wholePath: glob.includes('/'),
		matches: compileGlob(glob.replace(/^\.?\//, '')),
	}));
	return (relative, name) => matchers.some(({wholePath, matches}) => matches(wholePath ? relative : name));
}

/** Finds the first match in each line; `g` to go on, `m` because many lines are searched at a time. */
export function compileContents({pattern, regex, ignoreCase}: ContentsQuery): RegExp {
	const source = regex ? pattern : pattern.replace(/[$()*+./?[\\\]^{|}-]/g, '\\$&');
	const flags = ignoreCase ? 'gmi' : 'gm';
	try {
		return new RegExp(source, `${flags}u`);
	} catch {
		// Escapes that mean nothing are only allowed without Unicode.
	}
	try {
		return new RegExp(source, flags);
	} catch (error) {
		throw unusable(errorMessage(error), pattern);
	}
}

function compileGlob(glob: string): (path: string) => boolean {
	try {
		return picomatch(glob, {dot: true});
	} catch (error) {
		throw unusable(`unusable glob: ${errorMessage(error)}`, glob);
	}
}

function unusable(message: string, pattern: string): LongarmError {
	return new LongarmError('PATTERN_INVALID', {message, context: {pattern}});
}
