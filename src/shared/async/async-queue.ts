type Waiter<T> = {readonly resolve: (result: IteratorResult<T>) => void; readonly reject: (error: unknown) => void};

/** Queue with an async iterator: producers push, readers wait. Items pushed before an end or a failure are read before it. */
export class AsyncQueue<T> implements AsyncIterableIterator<T> {
	readonly #items: T[] = [];
	readonly #waiters: Waiter<T>[] = [];
	readonly #onStop: () => void;
	readonly #onEmpty: () => void;
	#ending: {readonly failure?: {readonly error: unknown}} | undefined;

	/** `onStop` is called once, when the queue ends or its reader returns; `onEmpty` whenever a read empties the queue. */
	constructor(onStop: () => void, onEmpty: () => void = () => {}) {
		this.#onStop = onStop;
		this.#onEmpty = onEmpty;
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	get isClosed(): boolean {
		return this.#ending !== undefined;
	}

	/** Buffered items, oldest first. */
	get waiting(): readonly T[] {
		return this.#items;
	}

	push(...items: readonly T[]): void {
		if (this.#ending) return;
		for (const item of items) {
			const waiter = this.#waiters.shift();
			if (waiter) waiter.resolve({done: false, value: item});
			else this.#items.push(item);
		}
	}

	/** Drops the buffered items. */
	clear(): void {
		this.#items.length = 0;
	}

	end(): void {
		this.#finish({});
	}

	fail(error: unknown): void {
		this.#finish({failure: {error}});
	}

	async next(): Promise<IteratorResult<T>> {
		if (this.#items.length > 0) {
			const value = this.#items.shift()!;
			if (this.#items.length === 0) this.#onEmpty();
			return {done: false, value};
		}
		if (!this.#ending) return new Promise((resolve, reject) => this.#waiters.push({resolve, reject}));
		const {failure} = this.#ending;
		// A failure rejects one read only; later reads see the end.
		this.#ending = {};
		if (failure) throw failure.error;
		return {done: true, value: undefined};
	}

	async return(): Promise<IteratorResult<T>> {
		this.clear();
		this.#finish({});
		return {done: true, value: undefined};
	}

	#finish(ending: {readonly failure?: {readonly error: unknown}}): void {
		if (this.#ending) return;
		this.#ending = ending;
		for (const {resolve, reject} of this.#waiters.splice(0)) {
			const failure = this.#ending.failure;
			this.#ending = {};
			if (failure) reject(failure.error);
			else resolve({done: true, value: undefined});
		}
		this.#onStop();
	}
}
