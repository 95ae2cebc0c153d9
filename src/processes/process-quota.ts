import {LongarmError} from '../shared/errors.js';

/** Quota of processes that are starting or running at once, for one owner or for all. */
export class ProcessQuota {
	#max: number;
	readonly #owner: string;
	#used = 0;

	/** `owner` is the subject of the error message: `this session`, `this server`, `the token ci`. */
	constructor(max: number, owner: string) {
		this.#max = max;
		this.#owner = owner;
	}

	get used(): number {
		return this.#used;
	}

	/** Applies to later starts; running processes go on. */
	resize(max: number): void {
		this.#max = max;
	}

	check(): void {
		if (this.#used < this.#max) return;
		throw new LongarmError('PROCESS_LIMIT', {
			message: `${this.#owner} runs ${this.#used} processes already, which is its limit`,
			context: {limit: this.#max, running: this.#used},
		});
	}

	acquire(): void {
		this.#used++;
	}

	release(): void {
		this.#used--;
	}
}

/** Number of processes that are starting or running; those who depend on it are told of every change. */
export class ProcessCount extends ProcessQuota {
	readonly #listeners = new Set<() => void>();

	constructor() {
		super(Number.POSITIVE_INFINITY, 'this server');
	}

	/** Calls back after every change. */
	onChange(listener: () => void): void {
		this.#listeners.add(listener);
	}

	override acquire(): void {
		super.acquire();
		for (const listener of this.#listeners) listener();
	}

	override release(): void {
		super.release();
		for (const listener of this.#listeners) listener();
	}
}
