import {SharedTurns} from './shared-turns.js';

/** Longest time a task may block the event loop. */
const MAX_SLICE_MS = 4;

/** Turns of all tasks: however many there are, the event loop does its other work after each slice. */
const turns = new SharedTurns();

/** Time slicing: lets long work yield to the event loop. */
export class Yielder {
	#until = turns.hasWaiting ? 0 : performance.now() + MAX_SLICE_MS;

	/** Promise to await if the slice is used up, else undefined: most calls cost no microtask. */
	yieldIfDue(): Promise<void> | undefined {
		return performance.now() < this.#until ? undefined : this.#yield();
	}

	async #yield(): Promise<void> {
		await turns.next();
		this.#until = performance.now() + MAX_SLICE_MS;
	}
}
