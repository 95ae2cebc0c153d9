import type {Stats} from 'node:fs';

/** Files with several names that are remembered; what comes after counts as new under each of its names. */
const MAX_FILES = 200_000;

/** Knows the files of a tree that have several names by the first of them. */
export class LinkedFiles {
	readonly #names = new Map<string, string>();

	/** The name under which the file came before; undefined the first time. */
	nameOf(name: string, {dev, ino, nlink}: Stats): string | undefined {
		// A number that was rounded may belong to two files.
		if (nlink < 2 || !Number.isSafeInteger(ino)) return undefined;
		const identity = `${dev}:${ino}`;
		const first = this.#names.get(identity);
		if (first === undefined && this.#names.size < MAX_FILES) this.#names.set(identity, name);
		return first;
	}
}
