/** How many of each kind are told in full. */
const SHOWN = 5;

/** Broken promises, counted by kind; the first ones of each are told on standard error as they happen. */
export class Violations {
	#counts = new Map();
	#total = 0;

	get total() {
		return this.#total;
	}

	add(kind, detail) {
		this.#counts.set(kind, this.count(kind) + 1);
		this.#total++;
		if (this.count(kind) <= SHOWN) console.error(`VIOLATION ${kind}: ${detail}`);
	}

	/** Counts unless it holds. */
	expect(holds, kind, detail) {
		if (!holds) this.add(kind, typeof detail === 'function' ? detail() : detail);
	}

	count(kind) {
		return this.#counts.get(kind) ?? 0;
	}

	/** `[kind, count]` for each kind that was seen. */
	entries() {
		return [...this.#counts];
	}
}
