import {LongarmError} from '../shared/errors.js';

/** How many processes may be starting or running at once, for one owner or for all. */
export class ProcessQuota {
	#limit: number;
	readonly #owner: string;
	#used = 0;

	/** `owner` names whose quota it is in the error: `this session`, `this server`, `the token ci`. */
	constructor(limit: number, owner: string) {
		this.#limit = limit;
		this.#owner = owner;
	}

	get used(): number {
		return this.#used;
	}

	/** From now on; what runs already goes on. */
	resize(limit: number): void {
		this.#limit = limit;
	}

	check(): void {
		if (this.#used < this.#limit) return;
		throw new LongarmError('PROCESS_LIMIT', {
			message: `${this.#owner} runs ${this.#used} processes already, which is its limit`,
			context: {limit: this.#limit, running: this.#used},
		});
	}

	take(): void {
		this.#used++;
	}

	give(): void {
		this.#used--;
	}
}
