/** Counts bytes that are held for one client against a bound. */
export class ByteBudget {
	readonly #limit: number;
	#bytes = 0;

	constructor(limit: number) {
		this.#limit = limit;
	}

	/** False when there is no room; the first always gets some, and nothing needs none. */
	add(bytes: number): boolean {
		if (bytes > 0 && this.#bytes > 0 && this.#bytes + bytes > this.#limit) return false;
		this.#bytes += bytes;
		return true;
	}

	remove(bytes: number): void {
		this.#bytes -= bytes;
	}
}
