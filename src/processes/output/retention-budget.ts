/** What a log offers to the budget. */
export interface EvictableLog {
	readonly retainedBytes: number;
	readonly closedSeq: number | undefined;
	/** Gives up at least so many bytes if it can; what it really gave up. */
	evict(bytes: number): number;
}

/** When the budget is exceeded this share of it is freed at once, so that the search is rare. */
const FREED_SHARE = 1 / 16;

/**
 * Bounds what many processes together keep for late readers. The rule when it is exceeded: closed processes give first,
 * in the order of their first output; then the process that keeps most. Output that a connection has yet to get is
 * never given up. A budget may be part of a larger one, which then bounds the same logs together with others.
 */
export class RetentionBudget {
	#limit: number;
	readonly #parent: RetentionBudget | undefined;
	/** In the order of their first output, each with what the larger budget knows it by. */
	readonly #logs = new Map<EvictableLog, EvictableLog>();
	#total = 0;

	constructor(limit: number, whole?: RetentionBudget) {
		this.#limit = limit;
		this.#parent = whole;
	}

	get totalBytes(): number {
		return this.#total;
	}

	/** The log took in more; `trimmed` follows. */
	added(log: EvictableLog, bytes: number): void {
		let part = this.#logs.get(log);
		if (!part) {
			part = this.#parent ? this.#childOf(log) : log;
			this.#logs.set(log, part);
		}
		this.#total += bytes;
		this.#parent?.added(part, bytes);
	}

	/** A log gave up what its own bounds have no room for; if that was not enough, others have to give. */
	trimmed(bytes: number): void {
		this.#total -= bytes;
		this.#freeIfExceeded();
		this.#parent?.trimmed(bytes);
	}

	forget(log: EvictableLog): void {
		const part = this.#logs.get(log);
		if (!part) return;
		this.#logs.delete(log);
		this.#total -= log.retainedBytes;
		this.#parent?.forget(part);
	}

	resize(limit: number): void {
		this.#limit = limit;
		this.#freeIfExceeded();
	}

	/** What the larger budget takes from a log is missing here, too. */
	#childOf(log: EvictableLog): EvictableLog {
		return {
			get retainedBytes() {
				return log.retainedBytes;
			},
			get closedSeq() {
				return log.closedSeq;
			},
			evict: bytes => {
				const freed = log.evict(bytes);
				this.#total -= freed;
				return freed;
			},
		};
	}

	#freeIfExceeded(): void {
		if (this.#total > this.#limit) this.#free(this.#total - this.#limit * (1 - FREED_SHARE));
	}

	#free(wanted: number): void {
		const logs = [...this.#logs.keys()];
		const closed = logs.filter(log => log.closedSeq !== undefined);
		const open = logs.filter(log => log.closedSeq === undefined).sort((a, b) => b.retainedBytes - a.retainedBytes);
		let left = wanted;
		for (const log of [...closed, ...open]) {
			if (left <= 0) return;
			const freed = log.evict(left);
			this.#recordFreed(freed);
			left -= freed;
		}
	}

	#recordFreed(bytes: number): void {
		this.#total -= bytes;
		if (this.#parent) this.#parent.#recordFreed(bytes);
	}
}
