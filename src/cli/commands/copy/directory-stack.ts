import type {EntryAttributes, ListedEntry} from '../../../client/files/files.js';

/**
 * The directories on the way to what a walk is at, and those it has left. A directory gets its mode and time when all its
 * content is there: some may not be written to, and each new entry changes the time.
 */
export class DirectoryStack {
	#open: ListedEntry[] = [];
	#left: EntryAttributes[] = [];

	enter(directory: ListedEntry): void {
		this.#open.push(directory);
	}

	/** The walk is at this entry: what does not lead to it is over. */
	leaveFor(name: string): void {
		for (let last = this.#open.at(-1); last && !leadsTo(last.name, name); last = this.#open.at(-1)) this.#leave(last);
	}

	leaveAll(): void {
		for (let last = this.#open.at(-1); last; last = this.#open.at(-1)) this.#leave(last);
	}

	/** Those that were left since it was asked last, the deepest first. */
	takeLeft(): EntryAttributes[] {
		const left = this.#left;
		this.#left = [];
		return left;
	}

	#leave({name, mode, modifiedAtMs}: ListedEntry): void {
		this.#open.pop();
		this.#left.push({name, mode, modifiedAtMs});
	}
}

function leadsTo(directory: string, name: string): boolean {
	return directory === '' || name.startsWith(`${directory}/`);
}
