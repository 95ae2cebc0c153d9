/** Events for whoever asks: those who ask before there is one wait, in their order. */
export abstract class WaitingEvents<T> implements AsyncIterableIterator<T> {
	readonly #waiting: ((result: IteratorResult<T>) => void)[] = [];

	[Symbol.asyncIterator](): this {
		return this;
	}

	next(): Promise<IteratorResult<T>> {
		const taken = this.take();
		return taken ? Promise.resolve(taken) : new Promise(resolve => this.#waiting.push(resolve));
	}

	/** Nobody wants any more. */
	return(): Promise<IteratorResult<T>> {
		this.end();
		this.serve();
		return Promise.resolve({done: true, value: undefined});
	}

	/** The next one; undefined when there is nothing yet, and done for ever after the end. */
	protected abstract take(): IteratorResult<T> | undefined;

	protected abstract end(): void;

	/** Gives those who wait what there is; at the end that is the end, for all of them. */
	protected serve(): void {
		for (let resolve = this.#waiting[0]; resolve; resolve = this.#waiting[0]) {
			const next = this.take();
			if (!next) return;
			this.#waiting.shift();
			resolve(next);
		}
	}
}
