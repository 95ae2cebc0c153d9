import type {EntryAttributes, ListedEntry} from '../files.js';

/**
 * Open directories of a depth-first walk, and the closed ones whose attributes are still to be set. That waits until all
 * entries of a directory exist: some modes forbid writing, and each new entry changes the time.
 */
export class DirectoryStack {
	#open: ListedEntry[] = [];
	#closed: EntryAttributes[] = [];

	constructor(open: readonly ListedEntry[] = []) {
		this.#open = [...open];
	}

	/** The open directories, the deepest last. */
	get open(): readonly ListedEntry[] {
		return [...this.#open];
	}

	push(directory: ListedEntry): void {
		this.#open.push(directory);
	}

	/** Pops directories that are not ancestors of the entry. */
	popTo(name: string): void {
		for (let last = this.#open.at(-1); last && !isAncestor(last.name, name); last = this.#open.at(-1)) this.#pop(last);
	}

	popAll(): void {
		for (let last = this.#open.at(-1); last; last = this.#open.at(-1)) this.#pop(last);
	}

	/** Attributes of the directories popped since the last call, the deepest first. */
	takeClosed(): EntryAttributes[] {
		const closed = this.#closed;
		this.#closed = [];
		return closed;
	}

	#pop({name, mode, modifiedAtMs}: ListedEntry): void {
		this.#open.pop();
		this.#closed.push({name, mode, modifiedAtMs});
	}
}

function isAncestor(directory: string, name: string): boolean {
	return directory === '' || name.startsWith(`${directory}/`);
}
