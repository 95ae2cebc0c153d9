/** Time per tick of the event loop for spawning children; the rest waits for the next tick. */
const MAX_TICK_MS = 4;

type Task = () => void;

const monotonicNow = (): number => performance.now();

/**
 * Spawns children at once while this tick of the event loop has time left, and in later ticks when a burst of starts
 * would block other requests. Round robin over owners, so that the burst of one client does not delay the single start of
 * another.
 */
export class StartQueue {
	readonly #queues = new Map<object, Task[]>();
	readonly #now: () => number;
	#spentMs = 0;
	#isScheduled = false;

	/** `now` is a monotonic clock in milliseconds. */
	constructor(now: () => number = monotonicNow) {
		this.#now = now;
	}

	run(owner: object, task: Task): void {
		if (this.#queues.size === 0 && this.#spentMs < MAX_TICK_MS) {
			this.#runTimed(task);
			return;
		}
		const queue = this.#queues.get(owner);
		if (queue) queue.push(task);
		else this.#queues.set(owner, [task]);
		this.#schedule();
	}

	#runTimed(task: Task): void {
		const began = this.#now();
		task();
		this.#spentMs += this.#now() - began;
		this.#schedule();
	}

	#schedule(): void {
		if (this.#isScheduled) return;
		this.#isScheduled = true;
		setImmediate(() => {
			this.#isScheduled = false;
			this.#spentMs = 0;
			this.#runQueued();
		});
	}

	#runQueued(): void {
		while (this.#queues.size > 0 && this.#spentMs < MAX_TICK_MS) {
			const [owner, queue] = this.#queues.entries().next().value!;
			const task = queue.shift()!;
			// Re-inserting moves the owner to the end of the iteration order.
			this.#queues.delete(owner);
			if (queue.length > 0) this.#queues.set(owner, queue);
			this.#runTimed(task);
		}
	}
}
