import {AsyncQueue} from '../../../shared/async/async-queue.js';
import {onAbort} from '../../../shared/async/on-abort.js';
import type {Match, Search, SearchOutcome} from '../files.js';

/** What a search has found and nobody has taken yet. */
export class SearchStream implements Search {
	readonly outcome: Promise<SearchOutcome>;
	readonly #feed: AsyncQueue<Match>;
	readonly #waiters: (() => void)[] = [];
	#settle!: (outcome: SearchOutcome) => void;
	#reject!: (error: unknown) => void;
	#isThrough = false;

	/** `left` comes when nothing more is wanted, and not when the search has come to its end. */
	constructor(signal: AbortSignal | undefined, left: () => void) {
		this.outcome = new Promise((resolve, reject) => {
			this.#settle = resolve;
			this.#reject = reject;
		});
		// Those who only want the matches hear of a failure there.
		this.outcome.catch(() => {});
		let stopListening: (() => void) | undefined;
		const stopped = () => {
			stopListening?.();
			this.#wake();
			if (!this.#isThrough) left();
		};
		this.#feed = new AsyncQueue(stopped, () => this.#wake());
		stopListening = onAbort(signal, reason => this.fail(reason));
	}

	/** Matches that were not taken yet. */
	get waiting(): number {
		return this.#feed.waiting.length;
	}

	get isOver(): boolean {
		return this.#feed.isClosed;
	}

	found(matches: readonly Match[]): void {
		this.#feed.push(...matches);
	}

	/** Settles when everything was taken, or nothing more is wanted. */
	async taken(): Promise<void> {
		while (this.waiting > 0 && !this.isOver) await new Promise<void>(resolve => this.#waiters.push(resolve));
	}

	finish(outcome: SearchOutcome): void {
		this.#isThrough = true;
		this.#settle(outcome);
		this.#feed.end();
	}

	fail(error: unknown): void {
		this.#reject(error);
		this.#feed.fail(error);
	}

	next(): Promise<IteratorResult<Match>> {
		return this.#feed.next();
	}

	return(): Promise<IteratorResult<Match>> {
		return this.#feed.return();
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	#wake(): void {
		for (const wake of this.#waiters.splice(0)) wake();
	}
}
