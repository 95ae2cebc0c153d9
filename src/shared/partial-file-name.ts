import {randomId} from './random-id.js';

const SUFFIX = '.longarm-part';
/** Longest name of a directory entry on common file systems. */
const MAX_NAME_BYTES = 255;

/** Name of the temporary file beside a file that is not complete yet; names are bytes. Only very long names collide. */
export function partialFileName(name: string): string {
	return withSuffix(name, SUFFIX);
}

/** The same with a part that nobody can foresee: for a file that another one, or another user's, must not be taken for. */
export function uniquePartialFileName(name: string): string {
	return withSuffix(name, `.${randomId()}${SUFFIX}`);
}

function withSuffix(name: string, suffix: string): string {
	return name.slice(0, MAX_NAME_BYTES - suffix.length) + suffix;
}
