/** Lets one thing be done at a time, in the order they were asked for. */
export class InteractionLock {
	#last: Promise<unknown> = Promise.resolve();
	#count = 0;

	/** Whether something is being done or waits for its turn. */
	get isHeld(): boolean {
		return this.#count > 0;
	}

	run<T>(work: () => Promise<T>): Promise<T> {
		this.#count++;
		const done = this.#last.then(work).finally(() => this.#count--);
		this.#last = done.catch(() => {});
		return done;
	}
}
