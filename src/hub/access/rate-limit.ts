/** A burst of requests at once, and then so many per second. */
export interface RequestRate {
	readonly burst: number;
	readonly perSecond: number;
}

/** Callers that are counted; beyond them the one that has been silent longest is forgotten. */
export const MAX_COUNTED_CALLERS = 10_000;

interface Bucket {
	left: number;
	/** Monotonic. */
	at: number;
}

/** Token buckets by caller. */
export class RateLimit {
	readonly #rate: RequestRate;
	readonly #now: () => number;
	/** Silent longest first. */
	readonly #buckets = new Map<string, Bucket>();

	constructor(rate: RequestRate, now = () => performance.now()) {
		this.#rate = rate;
		this.#now = now;
	}

	/** Counts a request; false if it is one too many. */
	take(caller: string): boolean {
		const {burst, perSecond} = this.#rate;
		const now = this.#now();
		const {left, at} = this.#buckets.get(caller) ?? {left: burst, at: now};
		const filled = Math.min(burst, left + ((now - at) / 1000) * perSecond);
		const isAllowed = filled >= 1;
		this.#buckets.delete(caller);
		this.#buckets.set(caller, {left: isAllowed ? filled - 1 : filled, at: now});
		if (this.#buckets.size > MAX_COUNTED_CALLERS) this.#buckets.delete(this.#buckets.keys().next().value!);
		return isAllowed;
	}
}
