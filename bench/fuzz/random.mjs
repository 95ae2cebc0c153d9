/** Reproducible random numbers (mulberry32). */
export class Random {
	#state;

	constructor(first, second) {
		this.#state = Math.imul(first + 1, 0x9e3779b1) ^ Math.imul(second + 1, 0x85ebca6b);
		this.next();
	}

	/** 32 bits. */
	next() {
		this.#state = (this.#state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return (mixed ^ (mixed >>> 14)) >>> 0;
	}

	int(bound) {
		return Math.floor((this.next() / 2 ** 32) * bound);
	}

	chance(odds) {
		return this.next() < odds * 2 ** 32;
	}

	pick(list) {
		return list[this.int(list.length)];
	}

	bytes(length) {
		const bytes = Buffer.allocUnsafe(length);
		for (let index = 0; index < length; index++) bytes[index] = this.next();
		return bytes;
	}
}

/** Nothing special ever happens. */
export const PLAIN = {chance: () => false};

/** Each thing as often as its weight says. */
export function lottery(entries) {
	return entries.flatMap(([weight, thing]) => Array(weight).fill(thing));
}
