import ignore from 'ignore';
import {LongarmError} from '../../shared/errors.js';
import {display} from '../byte-path.js';

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
	try {
		return ignore({allowRelativePaths: true}).add([...rules]);
	} catch (error) {
		const message = `unusable ignore rule: ${error instanceof Error ? error.message : String(error)}`;
		throw new LongarmError('PATTERN_INVALID', {message, context: {rules}});
	}
}
