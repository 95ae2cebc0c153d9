/** A log as the budget sees it. */
export interface EvictableLog {
	readonly retainedBytes: number;
	readonly closedSeq: number | undefined;
	/** Frees at least `bytes` if possible; returns the bytes really freed. */
	evict(bytes: number): number;
}

/** Share of the budget freed at once when it is exceeded, so that the search over all logs is rare. */
const MIN_FREED_SHARE = 1 / 16;

/**
 * Bounds the retained output of many processes together. Eviction order when it is exceeded: closed processes first, in
 * the order of their first output; then the process that retains most. Output a driver has yet to deliver, or a reader to
 * acknowledge, is never evicted. A budget may have a parent, which bounds the same logs together with those of other children.
 */
export class RetentionBudget {
	#maxBytes: number;
	readonly #parent: RetentionBudget | undefined;
	/** In the order of their first output, each with the child log that represents it in the parent. */
	readonly #logs = new Map<EvictableLog, EvictableLog>();
	#total = 0;

	constructor(maxBytes: number, parent?: RetentionBudget) {
		this.#maxBytes = maxBytes;
		this.#parent = parent;
	}

	get totalBytes(): number {
		return this.#total;
	}

	/** True if so much is retained that output nobody may evict has to be kept small. */
	get isTight(): boolean {
		return this.#total > this.#maxBytes / 2 || this.#parent?.isTight === true;
	}

	/** Call after an append; `recordTrimmed` follows. */
	recordAdded(log: EvictableLog, bytes: number): void {
		let child = this.#logs.get(log);
		if (!child) {
			child = this.#parent ? this.#createChild(log) : log;
			this.#logs.set(log, child);
		}
		this.#total += bytes;
		this.#parent?.recordAdded(child, bytes);
	}

	/** Call after a log was trimmed to its own bounds, by `bytes`; evicts from other logs if that was not enough. */
	recordTrimmed(bytes: number): void {
		this.#total -= bytes;
		this.#freeIfExceeded();
		this.#parent?.recordTrimmed(bytes);
	}

	remove(log: EvictableLog): void {
		const child = this.#logs.get(log);
		if (!child) return;
		this.#logs.delete(log);
		this.#total -= log.retainedBytes;
		this.#parent?.remove(child);
	}

	resize(maxBytes: number): void {
		this.#maxBytes = maxBytes;
		this.#freeIfExceeded();
	}

	/** Represents a log in the parent: bytes the parent evicts are subtracted from this budget, too. */
	#createChild(log: EvictableLog): EvictableLog {
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
		if (this.#total > this.#maxBytes) this.#free(this.#total - this.#maxBytes * (1 - MIN_FREED_SHARE));
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
