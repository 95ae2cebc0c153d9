/** Concurrent searches, each with a thread, of one owner; and of all owners while none of them has to wait. */
export const MAX_RUNNING_SEARCHES = 2;
/** Threads of searches in all: so many owners have one search running each, whatever the others do. */
export const MAX_SEARCH_THREADS = 4;

type Start = () => void;

/**
 * Shares the threads between the owners of searches, such as connections. An owner without a running search comes before
 * all that have one; among equals the order is round robin, so that many searches of one delay no other.
 */
export class SearchQueue {
	readonly #running = new Map<object, number>();
	/** Owners in the order of their next turn. */
	readonly #waiting = new Map<object, Start[]>();
	#runningCount = 0;

	/** Calls `start` at once or later. The returned function ends the turn, or leaves the queue. */
	enter(owner: object, start: Start): () => void {
		let state: 'waiting' | 'running' | 'left' = 'waiting';
		const leave = (): void => {
			const before = state;
			state = 'left';
			if (before === 'running') this.#release(owner);
			else if (before === 'waiting') this.#withdraw(owner, run);
		};
		const run = (): void => {
			state = 'running';
			this.#acquire(owner);
			try {
				start();
			} catch (error) {
				leave();
				throw error;
			}
		};
		if (this.#mayRun(owner)) run();
		else this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), run]);
		return leave;
	}

	#mayRun(owner: object): boolean {
		if (!this.#running.has(owner)) return this.#runningCount < MAX_SEARCH_THREADS;
		const isAlone = [...this.#waiting.keys()].every(each => each === owner);
		return isAlone && this.#runningCount < MAX_RUNNING_SEARCHES;
	}

	#acquire(owner: object): void {
		this.#runningCount++;
		this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1);
	}

	#release(owner: object): void {
		this.#runningCount--;
		const left = this.#running.get(owner)! - 1;
		if (left === 0) this.#running.delete(owner);
		else this.#running.set(owner, left);
		this.#startNext();
	}

	#withdraw(owner: object, run: Start): void {
		const others = (this.#waiting.get(owner) ?? []).filter(each => each !== run);
		if (others.length > 0) this.#waiting.set(owner, others);
		else this.#waiting.delete(owner);
		// An owner that waits no longer may have kept another from a second search.
		this.#startNext();
	}

	#startNext(): void {
		for (;;) {
			const owners = [...this.#waiting.keys()].filter(owner => this.#mayRun(owner));
			const owner = owners.find(each => !this.#running.has(each)) ?? owners[0];
			if (owner === undefined) return;
			const [run, ...rest] = this.#waiting.get(owner)!;
			// Re-inserting moves the owner to the end of the iteration order.
			this.#waiting.delete(owner);
			if (rest.length > 0) this.#waiting.set(owner, rest);
			run!();
		}
	}
}
