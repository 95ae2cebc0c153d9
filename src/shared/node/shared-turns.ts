/** Time per turn of the event loop for all tasks together; in between other requests get theirs. */
const MAX_TURN_MS = 4;

/**
 * Shares the turns of the event loop between tasks that take long: one after the other, a slice each, however many there
 * are. A task waits for a slice before it begins and whenever it has waited for something else, and asks before each step
 * whether its slice is over.
 */
export class SharedTurns {
	readonly #waiting: (() => void)[] = [];
	#isScheduled = false;
	#sliceEnd = 0;

	/** True when the task has to wait for its next slice before it goes on. */
	get isOver(): boolean {
		return performance.now() >= this.#sliceEnd;
	}

	/** Whether a task waits for its slice. */
	get hasWaiting(): boolean {
		return this.#waiting.length > 0;
	}

	/** Settles when a slice of the caller begins. */
	next(): Promise<void> {
		return new Promise(resolve => {
			this.#waiting.push(resolve);
			this.#schedule();
		});
	}

	#schedule(): void {
		if (this.#isScheduled) return;
		this.#isScheduled = true;
		setImmediate(() => {
			this.#isScheduled = false;
			this.#sliceEnd = performance.now() + MAX_TURN_MS;
			this.#waiting.shift()?.();
			if (this.#waiting.length > 0) this.#schedule();
		});
	}
}
