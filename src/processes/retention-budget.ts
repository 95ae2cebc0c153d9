/** What a log offers to the budget. */
export interface Shedding {
	readonly retainedBytes: number;
	readonly closedSeq: number | undefined;
	/** Gives up at least so many bytes if it can; what it really gave up. */
	shed(bytes: number): number;
}

/** When the budget is exceeded this share of it is freed at once, so that the search is rare. */
const FREED_SHARE = 1 / 16;

/**
 * Bounds what all processes together keep for late readers. The rule when it is exceeded: closed processes give first,
 * in the order of their first output; then the process that keeps most. Output that a connection has yet to get is
 * never given up.
 */
export class RetentionBudget {
	readonly #limit: number;
	/** In the order of their first output. */
	readonly #logs = new Set<Shedding>();
	#total = 0;

	constructor(limit: number) {
		this.#limit = limit;
	}

	get totalBytes(): number {
		return this.#total;
	}

	/** The log took in more; `trimmed` follows. */
	added(log: Shedding, bytes: number): void {
		this.#logs.add(log);
		this.#total += bytes;
	}

	/** A log gave up what its own bounds have no room for; if that was not enough, others have to give. */
	trimmed(bytes: number): void {
		this.#total -= bytes;
		if (this.#total > this.#limit) this.#free(this.#total - this.#limit * (1 - FREED_SHARE));
	}

	forget(log: Shedding): void {
		if (this.#logs.delete(log)) this.#total -= log.retainedBytes;
	}

	#free(wanted: number): void {
		const logs = [...this.#logs];
		const closed = logs.filter(log => log.closedSeq !== undefined);
		const open = logs.filter(log => log.closedSeq === undefined).sort((a, b) => b.retainedBytes - a.retainedBytes);
		let left = wanted;
		for (const log of [...closed, ...open]) {
			if (left <= 0) return;
			const freed = log.shed(left);
			this.#total -= freed;
			left -= freed;
		}
	}
}
