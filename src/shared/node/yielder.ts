import {setImmediate as nextTick} from 'node:timers/promises';

/** Longest time a task may block the event loop. */
const MAX_SLICE_MS = 4;

/** Time slicing: lets long work yield to the event loop. */
export class Yielder {
	#until = performance.now() + MAX_SLICE_MS;

	/** Promise to await if the slice is used up, else undefined: most calls cost no microtask. */
	yieldIfDue(): Promise<void> | undefined {
		return performance.now() < this.#until ? undefined : this.#yield();
	}

	async #yield(): Promise<void> {
		await nextTick();
		this.#until = performance.now() + MAX_SLICE_MS;
	}
}
