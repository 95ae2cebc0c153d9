import {type NumberedEvent, payloadOf} from './process-handle.js';

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
	readonly #publish: (event: NumberedEvent) => void;
	readonly #waiting = new Map<number, NumberedEvent>();
	#waitingBytes = 0;
	#published = 0;
	#droppedThrough = 0;
	#isClosed = false;
	/** Events that find no room are dropped instead of being an error: they will be read again. */
	dropsExcess = false;

	constructor(publish: (event: NumberedEvent) => void) {
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
		for (const [waiting, event] of this.#waiting) {
			if (waiting > seq) continue;
			this.#waiting.delete(waiting);
			this.#waitingBytes -= payloadOf(event);
		}
		this.#published = seq;
		this.#publishNext();
	}

	#publishNext(): void {
		for (let next = this.#waiting.get(this.#published + 1); next; next = this.#waiting.get(this.#published + 1)) {
			this.#waiting.delete(next.seq);
			this.#waitingBytes -= payloadOf(next);
			this.#published = next.seq;
			this.#isClosed = next.kind === 'closed';
			this.#publish(next);
			if (this.#isClosed) this.#waiting.clear();
		}
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
