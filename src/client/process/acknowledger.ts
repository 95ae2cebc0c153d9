import type {PausableSource} from './event-stream.js';
import {type ProcessEvent, payloadOf} from './process-handle.js';

/** Taken output and events after which the server is told; it pauses the process when it hears nothing for longer. */
export const ACKNOWLEDGE_EVERY_BYTES = 128 * 1024;
export const ACKNOWLEDGE_EVERY_EVENTS = 128;
/** Acknowledgements on their way; the newest position is sent when one of them has arrived. */
const MAX_PENDING_ACKNOWLEDGEMENTS = 8;
/** Above the number of any event: the server need not keep anything. */
export const EVERYTHING = Number.MAX_SAFE_INTEGER;

/** Tells the server how far the reader of a process is, so that it keeps everything else, also over a lost connection. */
export class Acknowledger implements PausableSource {
	/** The server pauses the process long before; others on the connection wait only if it does not. */
	readonly patience = 8;
	readonly #source: PausableSource;
	readonly #send: (seq: number) => Promise<unknown>;
	#bytes = 0;
	#events = 0;
	#pending = 0;
	/** Position to be sent as soon as fewer acknowledgements are on their way. */
	#waiting: number | undefined;

	/** `send` settles when the server has the number, over any number of connections, or never will have. */
	constructor(source: PausableSource, send: (seq: number) => Promise<unknown>) {
		this.#source = source;
		this.#send = send;
	}

	pause(): void {
		this.#source.pause();
	}

	resume(): void {
		this.#source.resume();
	}

	taken(event: ProcessEvent): void {
		if (event.kind !== 'output') return;
		this.#bytes += payloadOf(event);
		this.#events++;
		if (this.#bytes >= ACKNOWLEDGE_EVERY_BYTES || this.#events >= ACKNOWLEDGE_EVERY_EVENTS)
			this.#acknowledge(event.seq);
	}

	/** The reader has left before the end: the process must not wait for it. */
	abandoned(): void {
		this.#acknowledge(EVERYTHING);
	}

	#acknowledge(seq: number): void {
		this.#bytes = 0;
		this.#events = 0;
		if (this.#pending < MAX_PENDING_ACKNOWLEDGEMENTS) void this.#deliver(seq);
		else this.#waiting = seq;
	}

	async #deliver(seq: number): Promise<void> {
		this.#pending++;
		try {
			await this.#send(seq);
		} catch {
			// The session is lost, and the process with it.
		}
		this.#pending--;
		const next = this.#waiting;
		this.#waiting = undefined;
		if (next !== undefined) void this.#deliver(next);
	}
}
