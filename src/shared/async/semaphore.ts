/** Lets a bounded number of pieces of asynchronous work run at once; the others wait in the order of the calls. */
export class Semaphore {
	readonly #max: number;
	readonly #waiting: (() => void)[] = [];
	#running = 0;

	constructor(max: number) {
		this.#max = max;
	}

	async run<T>(work: () => Promise<T>): Promise<T> {
		if (this.#running >= this.#max) await new Promise<void>(resolve => this.#waiting.push(resolve));
		else this.#running++;
		try {
			return await work();
		} finally {
			const next = this.#waiting.shift();
			// The place goes to the next one without being free in between.
			if (next) next();
			else this.#running--;
		}
	}
}
