/** How long the past counts: a rate follows a change within a few of these. */
const WINDOW_MS = 3000;
/** Measurements closer together than this count as one. */
const SHORTEST_STEP_MS = 50;

/** A smoothed rate of a number that grows. */
export class Rate {
	#last: {readonly at: number; readonly value: number} | undefined;
	#perMs: number | undefined;

	add(at: number, value: number): void {
		this.#last ??= {at, value};
		const elapsed = at - this.#last.at;
		if (elapsed < SHORTEST_STEP_MS) return;
		const now = (value - this.#last.value) / elapsed;
		const weight = 1 - Math.exp(-elapsed / WINDOW_MS);
		this.#perMs = this.#perMs === undefined ? now : this.#perMs + weight * (now - this.#perMs);
		this.#last = {at, value};
	}

	/** Undefined while too little is known. */
	get perSecond(): number | undefined {
		return this.#perMs === undefined ? undefined : this.#perMs * 1000;
	}
}
