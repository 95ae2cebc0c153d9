/** Reproducible random numbers: the same seed gives the same sequence (mulberry32). */
export class Random {
	#state;

	constructor(seed) {
		this.#state = Math.trunc(seed) >>> 0;
	}

	/** The generator of one numbered part of a run, so that the part can be repeated without those before it. */
	static ofPart(seed, index) {
		const random = new Random(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
		random.bits();
		return random;
	}

	/** 32 bits, as a number from 0 on. */
	bits() {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let mixed = this.#state;
		mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return (mixed ^ (mixed >>> 14)) >>> 0;
	}

	/** From 0 up to but not including 1. */
	next() {
		return this.bits() / 2 ** 32;
	}

	/** A whole number from 0 up to but not including the bound. */
	below(bound) {
		return Math.floor(this.next() * bound);
	}

	/** A whole number, both ends included. */
	integer(low, high) {
		return low + this.below(high - low + 1);
	}

	/** Between the two, small ones as likely as large ones: for sizes that span orders of magnitude. */
	size(low, high) {
		return Math.round(low * (high / low) ** this.next());
	}

	chance(probability) {
		return this.next() < probability;
	}

	pick(list) {
		return list[this.below(list.length)];
	}

	bytes(length) {
		const bytes = Buffer.allocUnsafe(length);
		for (let index = 0; index < length; index++) bytes[index] = this.bits();
		return bytes;
	}

	/** An independent generator, so that the order in which the two are used does not matter. */
	fork() {
		return new Random(this.bits());
	}
}

/** A list to pick from in which each value of the `[weight, value]` pairs is as often as its weight says. */
export function weightedList(pairs) {
	return pairs.flatMap(([weight, value]) => Array(weight).fill(value));
}
