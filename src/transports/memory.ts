import {type Frame, measureFrame} from '../protocol/wire/encode.js';
import type {Transport, TransportEvents} from './transport.js';

/** Two transports joined in memory: what one sends, the other receives, asynchronously and in order. */
export function memoryTransportPair(): [MemoryTransport, MemoryTransport] {
	const left = new MemoryTransport();
	const right = new MemoryTransport();
	left.join(right);
	right.join(left);
	return [left, right];
}

export class MemoryTransport implements Transport {
	readonly kind = 'memory';
	readonly peer = 'memory';
	#far: MemoryTransport | undefined;
	#events: TransportEvents | undefined;
	#inbox: string[] = [];
	#inboxBytes = 0;
	#scheduled = false;
	#paused = false;
	#ending: {error?: Error} | undefined;
	#isClosed = false;

	join(far: MemoryTransport): void {
		this.#far = far;
	}

	get backlog(): number {
		return this.#far?.waitingBytes ?? 0;
	}

	get waitingBytes(): number {
		return this.#inboxBytes;
	}

	open(events: TransportEvents): void {
		this.#events = events;
		this.#schedule();
	}

	send(frame: Frame): void {
		if (!this.#isClosed) this.#far?.receive(frame.toString());
	}

	receive(text: string): void {
		if (this.#isClosed || this.#ending) return;
		this.#inbox.push(text);
		this.#inboxBytes += measureFrame(text);
		this.#schedule();
	}

	/** The far end has taken everything. */
	taken(): void {
		if (!this.#isClosed) this.#events?.drained();
	}

	pause(): void {
		this.#paused = true;
	}

	resume(): void {
		this.#paused = false;
		this.#schedule();
	}

	close(): void {
		this.#far?.end({});
		this.end({});
	}

	destroy(): void {
		this.fail();
	}

	/** Breaks the link: both ends see `error`, and what was under way is lost. */
	fail(error?: Error): void {
		for (const side of [this, this.#far]) {
			if (!side) continue;
			side.#inbox = [];
			side.#inboxBytes = 0;
			side.end(error ? {error} : {});
		}
	}

	end(ending: {error?: Error}): void {
		this.#ending ??= ending;
		this.#schedule();
	}

	#schedule(): void {
		if (this.#scheduled || !this.#events) return;
		this.#scheduled = true;
		queueMicrotask(() => {
			this.#scheduled = false;
			this.#deliver();
		});
	}

	#deliver(): void {
		while (!this.#isClosed && !this.#paused && this.#inbox.length > 0) {
			const text = this.#inbox.shift()!;
			this.#inboxBytes -= measureFrame(text);
			this.#events!.message(text);
		}
		if (this.#inbox.length === 0) this.#far?.taken();
		if (this.#ending && this.#inbox.length === 0 && !this.#isClosed) {
			this.#isClosed = true;
			this.#events!.closed(this.#ending.error);
		}
	}
}
