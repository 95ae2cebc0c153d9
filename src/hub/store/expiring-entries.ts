interface Entry<T> {
	readonly value: T;
	readonly holder: string;
	/** Monotonic. */
	readonly expiresAt: number;
}

/**
 * A bounded number of entries that expire in the order they were added, and are never removed early to make room. A holder has at
 * most as many as there is room left for others, so that room is never used up by those who came first.
 */
export class ExpiringEntries<T> {
	readonly #maxEntries: number;
	readonly #ttlMs: number;
	/** Oldest first. */
	readonly #entries = new Map<string, Entry<T>>();
	readonly #counts = new Map<string, number>();

	constructor(maxEntries: number, ttlMs: number) {
		this.#maxEntries = maxEntries;
		this.#ttlMs = ttlMs;
	}

	/** False if the holder, or all together, have as many as they may. */
	add(key: string, value: T, holder: string): boolean {
		this.#expire();
		const count = this.#counts.get(holder) ?? 0;
		if (count >= this.#maxEntries - this.#entries.size) return false;
		this.#counts.set(holder, count + 1);
		this.#entries.set(key, {value, holder, expiresAt: performance.now() + this.#ttlMs});
		return true;
	}

	has(key: string): boolean {
		return this.get(key) !== undefined;
	}

	get(key: string): T | undefined {
		const entry = this.#entries.get(key);
		return entry && entry.expiresAt > performance.now() ? entry.value : undefined;
	}

	delete(key: string): void {
		const entry = this.#entries.get(key);
		if (!entry) return;
		this.#entries.delete(key);
		const left = this.#counts.get(entry.holder)! - 1;
		if (left > 0) this.#counts.set(entry.holder, left);
		else this.#counts.delete(entry.holder);
	}

	#expire(): void {
		const now = performance.now();
		for (const [key, {expiresAt}] of this.#entries) {
			if (expiresAt > now) break;
			this.delete(key);
		}
	}
}
