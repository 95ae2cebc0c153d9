import type {Chunk} from '../output/output-log.js';

/** Output that is held once the process has exited: the largest capacity of a pipe for ordinary users. */
const MAX_REST_BYTES = 1024 * 1024;

/** An event beyond the bound: output, or the exit. */
export type HeldEvent = Chunk | {readonly seq: number};

/** Events beyond the bound of a spill, in order. They wait in memory for the last one. */
export class HeldEvents {
	#events: HeldEvent[] = [];
	#bytes = 0;
	#hasExited = false;

	get isEmpty(): boolean {
		return this.#events.length === 0;
	}

	/**
	 * The child has to wait. The rest that a process leaves in its streams is taken, so that they end; a descendant that
	 * writes on waits like the process before.
	 */
	get isFull(): boolean {
		return this.#hasExited ? this.#bytes > MAX_REST_BYTES : this.#events.length > 0;
	}

	addOutput(chunk: Chunk): void {
		this.#events.push({...chunk, bytes: Uint8Array.from(chunk.bytes)});
		this.#bytes += chunk.bytes.length;
	}

	/** Only behind other events; true if it was taken. */
	recordExit(seq: number): boolean {
		this.#hasExited = true;
		if (this.isEmpty) return false;
		this.#events.push({seq});
		return true;
	}

	/** Takes them all. */
	take(): HeldEvent[] {
		this.#bytes = 0;
		return this.#events.splice(0);
	}
}
