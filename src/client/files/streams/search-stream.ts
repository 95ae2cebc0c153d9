import type {Params} from '../../../protocol/methods/method-table.js';
import {AsyncQueue} from '../../../shared/async/async-queue.js';
import {Deferred} from '../../../shared/async/deferred.js';
import {onAbort} from '../../../shared/async/on-abort.js';
import type {Match, Search, SearchOutcome} from '../files.js';
import {withNativePath} from '../native-entry.js';

/** A match as the wire has it. */
export type FoundMatch = Params<'fs/searchMatches'>['matches'][number];

/** Queue of matches, and the outcome of their search. */
export class SearchStream implements Search {
	readonly #queue: AsyncQueue<Match>;
	readonly #outcome = new Deferred<SearchOutcome>();
	readonly #waiters: (() => void)[] = [];
	#isFinished = false;

	/** `left` is called when the reader leaves or the signal is aborted, not when the search has finished. */
	constructor(signal: AbortSignal | undefined, left: () => void) {
		// Readers of the matches get a failure there.
		this.#outcome.promise.catch(() => {});
		let stopListening: (() => void) | undefined;
		const stopped = () => {
			stopListening?.();
			this.#wake();
			if (!this.#isFinished) left();
		};
		this.#queue = new AsyncQueue(stopped, () => this.#wake());
		stopListening = onAbort(signal, reason => this.fail(reason));
	}

	get outcome(): Promise<SearchOutcome> {
		return this.#outcome.promise;
	}

	/** Number of matches in the queue. */
	get waiting(): number {
		return this.#queue.waiting.length;
	}

	get isClosed(): boolean {
		return this.#queue.isClosed;
	}

	found(matches: readonly FoundMatch[]): void {
		this.#queue.push(...matches.map(withNativePath));
	}

	/** Settles when the queue is empty or closed. */
	async taken(): Promise<void> {
		while (this.waiting > 0 && !this.isClosed) await new Promise<void>(resolve => this.#waiters.push(resolve));
	}

	finish(outcome: SearchOutcome): void {
		this.#isFinished = true;
		this.#outcome.resolve(outcome);
		this.#queue.end();
	}

	fail(error: unknown): void {
		this.#outcome.reject(error);
		this.#queue.fail(error);
	}

	next(): Promise<IteratorResult<Match>> {
		return this.#queue.next();
	}

	return(): Promise<IteratorResult<Match>> {
		return this.#queue.return();
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	#wake(): void {
		for (const wake of this.#waiters.splice(0)) wake();
	}
}
