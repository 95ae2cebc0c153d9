import type {ListedEntry, TreeEntry} from '../files.js';

/** How far a tree is copied. It outlives a lost connection, so that the next attempt begins there. */
export class TreePosition {
	#after: string | undefined;
	#directories: readonly ListedEntry[] = [];
	#obstructed: readonly string[] = [];

	/** Last entry that is done with everything before it; undefined at the beginning. */
	get after(): string | undefined {
		return this.#after;
	}

	/** Directories above the next entry; their attributes are set when they are complete. */
	get directories(): readonly ListedEntry[] {
		return this.#directories;
	}

	/** Directories at the position that cannot be made. */
	get obstructed(): readonly string[] {
		return this.#obstructed;
	}

	moveTo(name: string, directories: readonly ListedEntry[], obstructed: readonly string[]): void {
		this.#after = name;
		this.#directories = directories;
		this.#obstructed = [...obstructed];
	}

	/** Whether an entry is done. A failure follows the directory of the same name, and may not have been seen. */
	isPassed({name, kind}: TreeEntry): boolean {
		if (this.#after === undefined) return false;
		const order = compareNames(name, this.#after);
		return order < 0 || (order === 0 && kind !== 'failed');
	}
}

/** The order of a list: parents first, and by the bytes of the names of each directory. */
function compareNames(one: string, other: string): number {
	const [names, others] = [toComponents(one), toComponents(other)];
	const index = names.findIndex((name, at) => name !== others[at]);
	if (index === -1) return names.length - others.length;
	const [name, against] = [names[index]!, others[index]];
	return against === undefined || name > against ? 1 : -1;
}

function toComponents(name: string): string[] {
	return name === '' ? [] : name.split('/');
}
