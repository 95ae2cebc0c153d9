import {randomInt} from 'node:crypto';

const MIN_CAPACITY = 1024;
/** The table grows when more than this share of it is used. */
const MAX_LOAD = 0.6;
const FIRST_SUFFIX = 2;
const FNV_PRIME = 0x01000193;
const FNV_BASIS = 0x811c9dc5;
const OTHER_BASIS = 0x9747b28c;

/**
 * Gives every row an id of its own: the value of the id column, or `row-N`; a second `A` becomes `A-2`. Ids are kept as
 * hashes of 64 bits in typed arrays, so a million rows take some 30 MB. Two different ids with the same hash, one in ten
 * million jobs of a million rows, only give the later one a suffix.
 */
export class ItemIds {
	#low = new Uint32Array(MIN_CAPACITY);
	#high = new Uint32Array(MIN_CAPACITY);
	/** Next suffix to try; 0 for an empty slot. */
	#suffixes = new Uint32Array(MIN_CAPACITY);
	#count = 0;
	/** Not known to those who choose the ids, so that they cannot choose ones that share a slot. */
	readonly #seed = randomInt(2 ** 32);

	/** The id of the row with this number, from 1. */
	assign(given: string | undefined, rowNumber: number): string {
		const base = given === undefined || given.trim() === '' ? `row-${rowNumber}` : given;
		const slot = this.#find(base);
		if (this.#suffixes[slot] === 0) {
			this.#take(slot, base);
			return base;
		}
		let suffix = this.#suffixes[slot]!;
		while (!this.add(`${base}-${suffix}`)) suffix++;
		this.#suffixes[this.#find(base)] = suffix + 1;
		return `${base}-${suffix}`;
	}

	/** False if the id is there already. */
	add(id: string): boolean {
		const slot = this.#find(id);
		if (this.#suffixes[slot] !== 0) return false;
		this.#take(slot, id);
		return true;
	}

	has(id: string): boolean {
		return this.#suffixes[this.#find(id)] !== 0;
	}

	#take(slot: number, id: string): void {
		[this.#low[slot], this.#high[slot]] = hash(id, this.#seed);
		this.#suffixes[slot] = FIRST_SUFFIX;
		if (++this.#count > MAX_LOAD * this.#low.length) this.#grow();
	}

	/** Slot of the id, or the empty one where it belongs. */
	#find(id: string): number {
		const [low, high] = hash(id, this.#seed);
		return this.#probe(low, high);
	}

	#probe(low: number, high: number): number {
		const mask = this.#low.length - 1;
		let slot = low & mask;
		while (this.#suffixes[slot] !== 0 && (this.#low[slot] !== low || this.#high[slot] !== high)) {
			slot = (slot + 1) & mask;
		}
		return slot;
	}

	#grow(): void {
		const [low, high, suffixes] = [this.#low, this.#high, this.#suffixes];
		const capacity = 2 * low.length;
		this.#low = new Uint32Array(capacity);
		this.#high = new Uint32Array(capacity);
		this.#suffixes = new Uint32Array(capacity);
		for (let old = 0; old < low.length; old++) {
			if (suffixes[old] === 0) continue;
			const slot = this.#probe(low[old]!, high[old]!);
			this.#low[slot] = low[old]!;
			this.#high[slot] = high[old]!;
			this.#suffixes[slot] = suffixes[old]!;
		}
	}
}

/** Two hashes of 32 bits, in the manner of FNV-1a with a final mix. */
function hash(text: string, seed: number): [low: number, high: number] {
	let [low, high] = [FNV_BASIS ^ seed, OTHER_BASIS ^ seed];
	for (let at = 0; at < text.length; at++) {
		const code = text.charCodeAt(at);
		low = Math.imul(low ^ code, FNV_PRIME) ^ (low >>> 15);
		high = Math.imul(high ^ (code + 0x9e37), 0x85ebca6b) ^ (high >>> 13);
	}
	return [mix(low), mix(high)];
}

function mix(value: number): number {
	let mixed = value ^ (value >>> 16);
	mixed = Math.imul(mixed, 0x7feb352d);
	mixed ^= mixed >>> 15;
	mixed = Math.imul(mixed, 0x846ca68b);
	return (mixed ^ (mixed >>> 16)) >>> 0;
}
