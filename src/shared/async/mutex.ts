/** Mutual exclusion for asynchronous work: one piece at a time, in the order of the calls. A failure does not stop the next. */
export class Mutex {
	#last: Promise<unknown> = Promise.resolve();
	#count = 0;

	/** True while work is running or queued. */
	get isLocked(): boolean {
		return this.#count > 0;
	}

	run<T>(work: () => T | Promise<T>): Promise<T> {
		this.#count++;
		const done = this.#last.then(work).finally(() => this.#count--);
		this.#last = done.catch(() => {});
		return done;
	}
}
