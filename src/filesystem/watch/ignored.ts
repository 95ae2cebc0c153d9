import ignore from 'ignore';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {toDisplayText} from '../byte-path.js';

/** Double stars in one rule: each multiplies the time to match a path by its depth, to seconds from the third on. */
const MAX_DOUBLE_STARS = 2;

/** Predicate for ignored paths, which are relative to the root and binary strings. */
export type IsIgnored = (relative: string, isDirectory: boolean) => boolean;

/** Compiles rules in the syntax of `.gitignore`. */
export function compileIgnoreRules(rules: readonly string[]): IsIgnored {
	if (rules.length === 0) return () => false;
	const matcher = createMatcher(rules);
	return (relative, isDirectory) => {
		const path = toDisplayText(relative);
		return matcher.ignores(isDirectory ? `${path}/` : path);
	};
}

function createMatcher(rules: readonly string[]) {
	const greedy = rules.find(rule => rule.split('**').length - 1 > MAX_DOUBLE_STARS);
	if (greedy !== undefined) {
		const message = `unusable ignore rule: more than ${MAX_DOUBLE_STARS} double stars in ${greedy}`;
		throw new LongarmError('PATTERN_INVALID', {message, context: {rules}});
	}
	try {
		return ignore({allowRelativePaths: true}).add([...rules]);
	} catch (error) {
		const message = `unusable ignore rule: ${errorMessage(error)}`;
		throw new LongarmError('PATTERN_INVALID', {message, context: {rules}});
	}
}
