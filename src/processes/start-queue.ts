/** Time per turn of the event loop that may go into starting children before everything else gets a chance. */
const TURN_BUDGET_MS = 4;

type Task = () => void;

const monotonicNow = (): number => performance.now();

/**
 * Starts children at once while there is time in this turn of the event loop, and later when a burst of starts would
 * keep other requests waiting. Owners take turns, so that one client's burst does not delay another's single start.
 */
export class StartQueue {
	readonly #lanes = new Map<object, Task[]>();
	readonly #now: () => number;
	#spentMs = 0;
	#scheduled = false;

	/** The clock is that of the machine unless another one is given; it counts milliseconds and never goes back. */
	constructor(now: () => number = monotonicNow) {
		this.#now = now;
	}

	run(owner: object, task: Task): void {
		if (this.#lanes.size === 0 && this.#spentMs < TURN_BUDGET_MS) {
			this.#timed(task);
			return;
		}
		const lane = this.#lanes.get(owner);
		if (lane) lane.push(task);
		else this.#lanes.set(owner, [task]);
		this.#schedule();
	}

	#timed(task: Task): void {
		const began = this.#now();
		task();
		this.#spentMs += this.#now() - began;
		this.#schedule();
	}

	#schedule(): void {
		if (this.#scheduled) return;
		this.#scheduled = true;
		setImmediate(() => {
			this.#scheduled = false;
			this.#spentMs = 0;
			this.#turn();
		});
	}

	#turn(): void {
		while (this.#lanes.size > 0 && this.#spentMs < TURN_BUDGET_MS) {
			const [owner, lane] = this.#lanes.entries().next().value!;
			const task = lane.shift()!;
			// To the back of the line, or out of it.
			this.#lanes.delete(owner);
			if (lane.length > 0) this.#lanes.set(owner, lane);
			this.#timed(task);
		}
	}
}
