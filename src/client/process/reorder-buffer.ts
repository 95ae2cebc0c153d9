import {type Gap, type NumberedEvent, payloadOf} from './process-handle.js';

/** Buffered events that wait for a missing earlier one. */
export const MAX_WAITING_EVENTS = 256;
/** Their bytes of output, and those of a single event. */
export const MAX_WAITING_BYTES = 1024 * 1024;

/** The events of a process cannot be put in order any more. */
export class ReorderError extends Error {
	override readonly name = 'ReorderError';
}

/**
 * Puts the events of one process in the order of their numbers, whatever the order they arrive in: output overtakes
 * the exit on the wire and the close overtakes both. Each number is published once, and nothing after the close.
 */
export class ReorderBuffer {
	readonly #publish: (event: NumberedEvent | Gap) => void;
	readonly #waiting = new Map<number, NumberedEvent>();
	/** Gaps that wait for the events before them. */
	readonly #gaps = new Set<Gap>();
	#waitingBytes = 0;
	#published = 0;
	#droppedThrough = 0;
	/** Events up to this number do not come, but how much they were may still be told. */
	#missingThrough = 0;
	#isClosed = false;
	/** Events that find no room are dropped instead of being an error: they will be read again. */
	dropsExcess = false;

	constructor(publish: (event: NumberedEvent | Gap) => void) {
		this.#publish = publish;
	}

	/** Sequence number of the last published event. */
	get published(): number {
		return this.#published;
	}

	/** True if the close was published. */
	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** True if events were dropped that have not been published since. */
	get hasDropped(): boolean {
		return this.#droppedThrough > this.#published;
	}

	has(seq: number): boolean {
		return seq <= this.#published || this.#waiting.has(seq);
	}

	/** Throws a `ReorderError` when too much waits for an event that does not come. */
	add(event: NumberedEvent): void {
		if (this.#isClosed || this.has(event.seq)) return;
		const bytes = payloadOf(event);
		if (bytes > MAX_WAITING_BYTES) throw new ReorderError(`process event exceeds ${MAX_WAITING_BYTES} bytes`);
		// The next event in order is published at once, so it takes no room in the buffer.
		if (event.seq !== this.#published + 1 && !this.#hasRoom(event.seq, bytes)) return;
		this.#waiting.set(event.seq, event);
		this.#waitingBytes += bytes;
		this.#publishNext();
	}

	/** Skips missing events up to this number: they are lost. */
	skipThrough(seq: number): void {
		if (this.#isClosed || seq <= this.#published) return;
		this.#drop(seq);
		this.#publishNext();
	}

	#drop(throughSeq: number): void {
		for (const [waiting, event] of this.#waiting) {
			if (waiting > throughSeq) continue;
			this.#waiting.delete(waiting);
			this.#waitingBytes -= payloadOf(event);
		}
		this.#published = throughSeq;
		this.#forgetPassedGaps();
	}

	/** Events that the server has announced as lost; published behind the events before them. */
	addGap(gap: Gap): void {
		if (this.#isClosed || gap.throughSeq <= this.#published) return;
		if (this.#gaps.size >= MAX_WAITING_EVENTS && gap.afterSeq > this.#published) {
			throw new ReorderError(`process event reorder buffer exceeds ${MAX_WAITING_EVENTS} gaps`);
		}
		this.#gaps.add(gap);
		this.#publishNext();
	}

	/** Events up to this number do not come: a gap is published with the first event behind them, if none was announced. */
	expectGapThrough(seq: number): void {
		this.#missingThrough = Math.max(this.#missingThrough, seq);
		this.#publishNext();
	}

	#publishNext(): void {
		while (!this.#isClosed) {
			const next = this.#waiting.get(this.#published + 1);
			if (next) {
				this.#waiting.delete(next.seq);
				this.#waitingBytes -= payloadOf(next);
				this.#published = next.seq;
				this.#isClosed = next.kind === 'closed';
				this.#publish(next);
				if (this.#gaps.size > 0) this.#forgetPassedGaps();
			} else if (!this.#publishGap()) break;
		}
		if (!this.#isClosed) return;
		this.#waiting.clear();
		this.#gaps.clear();
	}

	/** True if a gap was published, so that events behind it may follow. */
	#publishGap(): boolean {
		const gap = [...this.#gaps].find(({afterSeq}) => afterSeq <= this.#published) ?? this.#findExpectedGap();
		if (!gap) return false;
		this.#publish({...gap, afterSeq: this.#published});
		// Without publishing what follows: the caller does.
		this.#drop(gap.throughSeq);
		return true;
	}

	#forgetPassedGaps(): void {
		for (const gap of this.#gaps) if (gap.throughSeq <= this.#published) this.#gaps.delete(gap);
	}

	#findExpectedGap(): Gap | undefined {
		const throughSeq = this.#missingThrough;
		const isOpen = throughSeq > this.#published && this.#waiting.has(throughSeq + 1);
		return isOpen ? {kind: 'gap', afterSeq: this.#published, throughSeq, missedBytes: undefined} : undefined;
	}

	#hasRoom(seq: number, bytes: number): boolean {
		const hasSlot = this.#waiting.size < MAX_WAITING_EVENTS;
		if (hasSlot && this.#waitingBytes + bytes <= MAX_WAITING_BYTES) return true;
		if (!this.dropsExcess) {
			const limit = hasSlot ? `${MAX_WAITING_BYTES} bytes` : `${MAX_WAITING_EVENTS} entries`;
			throw new ReorderError(`process event reorder buffer exceeds ${limit}`);
		}
		this.#droppedThrough = Math.max(this.#droppedThrough, seq);
		return false;
	}
}
