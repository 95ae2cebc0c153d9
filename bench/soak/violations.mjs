import {Counter} from '../lib/counter.mjs';

/** How many of each kind are told in full. */
const MAX_SHOWN = 5;

/** Broken promises, counted by kind; the first ones of each are told on standard error as they happen. */
export class Violations {
	#counter = new Counter();

	get total() {
		return this.#counter.total;
	}

	add(kind, detail) {
		this.#counter.add(kind);
		if (this.#counter.get(kind) <= MAX_SHOWN) console.error(`VIOLATION ${kind}: ${detail}`);
	}

	/** Counts unless it holds. */
	expect(holds, kind, detail) {
		if (!holds) this.add(kind, typeof detail === 'function' ? detail() : detail);
	}

	/** `[kind, count]` for each kind that was seen. */
	entries() {
		return this.#counter.entries();
	}
}
