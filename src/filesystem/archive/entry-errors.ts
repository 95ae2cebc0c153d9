import {type BytePath, childOf} from '../byte-path.js';
import {messageOf} from '../file-errors.js';

export const MAX_COMPLAINTS = 1000;

export interface Complaint {
	readonly path: BytePath;
	readonly message: string;
}

/** What could not be taken along; of very many the first, and how many there are besides. */
export class Complaints {
	readonly #root: BytePath;
	readonly #kept: Complaint[] = [];
	#rest = 0;

	constructor(root: BytePath) {
		this.#root = root;
	}

	get list(): Complaint[] {
		if (this.#rest === 0) return [...this.#kept];
		return [...this.#kept, {path: this.#root, message: `and ${this.#rest} more`}];
	}

	/** `name` is the way from the root. */
	add(name: string, reason: unknown): void {
		if (this.#kept.length >= MAX_COMPLAINTS) {
			this.#rest++;
			return;
		}
		const message = typeof reason === 'string' ? reason : messageOf(reason);
		this.#kept.push({path: name === '' ? this.#root : childOf(this.#root, name), message});
	}
}
