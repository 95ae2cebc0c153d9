import {percentDecode} from '../../protocol/path-uri/path-uri-encoding.js';
import {refused} from '../file-errors.js';
import {namesOf} from './tar-entry.js';

/** Entries that one request may name. */
export const MAX_NAMES = 10_000;

/** The names on the way from a directory to each of the entries, none of which may lead out of it. */
export function waysOf(encoded: readonly string[]): string[][] {
	if (encoded.length > MAX_NAMES) throw refused(`more than ${MAX_NAMES} names`);
	return encoded.map(wayOf);
}

/** No names for the directory itself. */
export function wayOf(encoded: string): string[] {
	return encoded === '' ? [] : namesOf(percentDecode(encoded));
}
