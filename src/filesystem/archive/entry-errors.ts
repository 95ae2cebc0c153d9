import {type BytePath, childOf} from '../byte-path.js';
import {fileErrorMessage} from '../file-errors.js';

export const MAX_ENTRY_ERRORS = 1000;

export interface EntryError {
	readonly path: BytePath;
	readonly message: string;
}

/** What could not be taken along; of very many the first, and how many there are besides. */
export class EntryErrors {
	readonly #root: BytePath;
	readonly #kept: EntryError[] = [];
	#rest = 0;

	constructor(root: BytePath) {
		this.#root = root;
	}

	get list(): EntryError[] {
		if (this.#rest === 0) return [...this.#kept];
		return [...this.#kept, {path: this.#root, message: `and ${this.#rest} more`}];
	}

	/** `name` is the way from the root. */
	add(name: string, reason: unknown): void {
		if (this.#kept.length >= MAX_ENTRY_ERRORS) {
			this.#rest++;
			return;
		}
		const message = typeof reason === 'string' ? reason : fileErrorMessage(reason);
		this.#kept.push({path: name === '' ? this.#root : childOf(this.#root, name), message});
	}
}
