import {percentDecode} from '../../protocol/path-uri/path-uri-encoding.js';
import {refused} from '../file-errors.js';
import {namesOf} from './tar-entry.js';

/** Entries that one request may name. */
export const MAX_PATH_NAMES = 10_000;

/** The names on the way from a directory to each of the entries, none of which may lead out of it. */
export function parseRelativePaths(encoded: readonly string[]): string[][] {
	if (encoded.length > MAX_PATH_NAMES) throw refused(`more than ${MAX_PATH_NAMES} names`);
	return encoded.map(parseRelativePath);
}

/** No names for the directory itself. */
export function parseRelativePath(encoded: string): string[] {
	return encoded === '' ? [] : namesOf(percentDecode(encoded));
}
