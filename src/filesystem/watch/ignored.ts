import ignore from 'ignore';
import {errorMessage, LongarmError} from '../../shared/errors.js';
import {display} from '../byte-path.js';

/** In one rule; with each more the time to match a deep path grows by its depth, to seconds from the third on. */
const MAX_DOUBLE_STARS = 2;

/** Whether a path below the root is to be left alone; paths are relative and in bytes. */
export type Ignored = (relative: string, isDirectory: boolean) => boolean;

/** Rules in the language of `.gitignore`. */
export function ignoring(rules: readonly string[]): Ignored {
	if (rules.length === 0) return () => false;
	const matcher = compile(rules);
	return (relative, isDirectory) => {
		const path = display(relative);
		return matcher.ignores(isDirectory ? `${path}/` : path);
	};
}

function compile(rules: readonly string[]) {
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
