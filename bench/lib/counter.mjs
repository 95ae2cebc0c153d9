/** How often each of a set of names or messages occurred, in the order of their first occurrence. */
export class Counter {
	#counts = new Map();

	add(key) {
		this.#counts.set(key, this.get(key) + 1);
	}

	get(key) {
		return this.#counts.get(key) ?? 0;
	}

	/** Over all keys. */
	get total() {
		return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
	}

	/** `[key, count]` pairs. */
	entries() {
		return [...this.#counts];
	}

	/** `[key, count]` pairs by key. */
	sorted() {
		return this.entries().sort(([a], [b]) => (a < b ? -1 : 1));
	}

	/** `burst 12, kill 3` */
	toString() {
		return this.entries()
			.map(([key, count]) => `${key} ${count}`)
			.join(', ');
	}
}
