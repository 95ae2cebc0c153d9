import {setImmediate as nextTurn} from 'node:timers/promises';

/** How long work may keep the event loop to itself. */
const SLICE_MS = 4;

/** Cuts long work into slices: everything else has its turn between two of them. */
export class Yielder {
	#until = performance.now() + SLICE_MS;

	/** A promise to wait for when the slice is used up. */
	yieldIfDue(): Promise<void> | undefined {
		return performance.now() < this.#until ? undefined : this.#yield();
	}

	async #yield(): Promise<void> {
		await nextTurn();
		this.#until = performance.now() + SLICE_MS;
	}
}
