/** Chance that can be repeated: the same seed gives the same numbers (mulberry32). */
export class Random {
	#state;

	constructor(seed) {
		this.#state = Math.trunc(seed) >>> 0;
	}

	/** From 0 up to but not including 1. */
	next() {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let mixed = this.#state;
		mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	}

	/** A whole number, both ends included. */
	integer(low, high) {
		return low + Math.floor(this.next() * (high - low + 1));
	}

	/** Between the two, small ones as likely as large ones: for sizes that span orders of magnitude. */
	size(low, high) {
		return Math.round(low * (high / low) ** this.next());
	}

	chance(probability) {
		return this.next() < probability;
	}

	pick(list) {
		return list[this.integer(0, list.length - 1)];
	}

	/** A key of `weights`, as often as its value says. */
	weighted(weights) {
		const entries = Object.entries(weights);
		let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
		for (const [key, weight] of entries) {
			left -= weight;
			if (left < 0) return key;
		}
		return entries.at(-1)[0];
	}

	/** A chance of its own for somebody else, so that the order in which the two draw does not matter. */
	fork() {
		return new Random(this.next() * 2 ** 32);
	}
}
