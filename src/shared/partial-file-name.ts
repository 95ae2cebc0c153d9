const SUFFIX = '.longarm-part';
/** Longest name of a directory entry on common file systems. */
const MAX_NAME_BYTES = 255;

/** Name of the temporary file beside a file that is not complete yet; names are bytes. Only very long names collide. */
export function partialFileName(name: string): string {
	return name.slice(0, MAX_NAME_BYTES - SUFFIX.length) + SUFFIX;
}
