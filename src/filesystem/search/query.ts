import picomatch from 'picomatch';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import type {BytePath} from '../byte-path.js';

export const DEFAULT_MAX_MATCHES = 10_000;
export const MAX_SEARCH_MATCHES = 1_000_000;

/** Search request. Plain data, since it is sent to a worker thread. */
export interface SearchRequest {
	readonly root: BytePath;
	/** Globs for the path below the root, or, without a slash, for the name; none matches everything. */
	readonly names: readonly string[];
	/** Excluded entries, in the syntax of `.gitignore`. */
	readonly exclude: readonly string[];
	/** Pattern for the lines of files; without it only names are searched. */
	readonly contents: ContentsQuery | undefined;
	/** Includes names that begin with a dot. */
	readonly hidden: boolean;
	/** Respects `.gitignore` and `.ignore`. */
	readonly ignoreFiles: boolean;
	readonly maxMatches: number;
}

export interface ContentsQuery {
	readonly pattern: string;
	/** The pattern is a regular expression of JavaScript; else literal text. */
	readonly regex: boolean;
	readonly ignoreCase: boolean;
}

/** Predicate for a path below the root. */
export type MatchesName = (relative: string, name: string) => boolean;

export function compileNames(globs: readonly string[]): MatchesName {
	if (globs.length === 0) return () => true;
	const matchers = globs.map(glob => ({
		wholePath: glob.includes('/'),
		matches: compileGlob(glob.replace(/^\.?\//, '')),
	}));
	return (relative, name) => matchers.some(({wholePath, matches}) => matches(wholePath ? relative : name));
}

/** Compiles a pattern; `g` to continue behind a match, `m` because many lines are searched at once. */
export function compileContents({pattern, regex, ignoreCase}: ContentsQuery): RegExp {
	const source = regex ? pattern : pattern.replace(/[$()*+./?[\\\]^{|}-]/g, '\\$&');
	const flags = ignoreCase ? 'gmi' : 'gm';
	try {
		return new RegExp(source, `${flags}u`);
	} catch {
		// Unnecessary escapes are only allowed without the `u` flag.
	}
	try {
		return new RegExp(source, flags);
	} catch (error) {
		throw invalidPatternError(errorMessage(error), pattern);
	}
}

function compileGlob(glob: string): (path: string) => boolean {
	try {
		return picomatch(glob, {dot: true});
	} catch (error) {
		throw invalidPatternError(`unusable glob: ${errorMessage(error)}`, glob);
	}
}

function invalidPatternError(message: string, pattern: string): LongarmError {
	return new LongarmError('PATTERN_INVALID', {message, context: {pattern}});
}
