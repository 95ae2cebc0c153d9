type Waiter<T> = {readonly resolve: (result: IteratorResult<T>) => void; readonly reject: (error: unknown) => void};

/** An async iterator that is fed from outside. What came before an end or a failure is handed out before it. */
export class Feed<T> implements AsyncIterableIterator<T> {
	readonly #items: T[] = [];
	readonly #waiters: Waiter<T>[] = [];
	readonly #stopped: () => void;
	readonly #taken: () => void;
	#over: {readonly failure?: {readonly error: unknown}} | undefined;

	/** `stopped` comes once, when nothing more is wanted or will come; `taken` whenever the last item was taken. */
	constructor(stopped: () => void, taken: () => void = () => {}) {
		this.#stopped = stopped;
		this.#taken = taken;
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	get isOver(): boolean {
		return this.#over !== undefined;
	}

	/** What was not taken yet. */
	get waiting(): readonly T[] {
		return this.#items;
	}

	push(...items: readonly T[]): void {
		if (this.#over) return;
		for (const item of items) {
			const waiter = this.#waiters.shift();
			if (waiter) waiter.resolve({done: false, value: item});
			else this.#items.push(item);
		}
	}

	/** Forgets what was not taken. */
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
			if (this.#items.length === 0) this.#taken();
			return {done: false, value};
		}
		if (!this.#over) return new Promise((resolve, reject) => this.#waiters.push({resolve, reject}));
		const {failure} = this.#over;
		// A failure is told once; after it there is only the end.
		this.#over = {};
		if (failure) throw failure.error;
		return {done: true, value: undefined};
	}

	async return(): Promise<IteratorResult<T>> {
		this.clear();
		this.#finish({});
		return {done: true, value: undefined};
	}

	#finish(over: {readonly failure?: {readonly error: unknown}}): void {
		if (this.#over) return;
		this.#over = over;
		for (const {resolve, reject} of this.#waiters.splice(0)) {
			const failure = this.#over.failure;
			this.#over = {};
			if (failure) reject(failure.error);
			else resolve({done: true, value: undefined});
		}
		this.#stopped();
	}
}
