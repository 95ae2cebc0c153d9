const SUFFIX = '.longarm-part';
/** What file systems take for a name. */
const MAX_NAME_BYTES = 255;

/** Where a file is kept beside its place until it is whole; names are bytes. Only very long names share one. */
export function partialFileName(name: string): string {
	return name.slice(0, MAX_NAME_BYTES - SUFFIX.length) + SUFFIX;
}
