/** Time per tick of the event loop for spawning children; the rest waits for the next tick. */
const MAX_TICK_MS = 4;

type Task = () => void;

const monotonicNow = (): number => performance.now();

/**
 * Spawns the first child of a tick of the event loop at once, and those of a burst afterwards, a few per tick, so that they do
 * not block other requests. Round robin over owners, so that the burst of one client does not delay the single start of
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
		// One start that comes alone. More of them would use up the time for reading requests, such as a terminate behind them.
		if (!this.#isScheduled && this.#queues.size === 0) {
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
