import {isLast, type ProcessEvent, payloadOf} from './process-handle.js';
import {WaitingEvents} from './waiting-events.js';

/** What a reader may be behind before whoever brings events is held back, and where that ends. */
export const HOLD_ABOVE_BYTES = 1024 * 1024;
export const RELEASE_BELOW_BYTES = 256 * 1024;
/** The same in events, so that many small ones do not count as little. */
export const HOLD_ABOVE_EVENTS = 1024;
export const RELEASE_BELOW_EVENTS = 256;

/** Stops whoever brings events, and lets it go on; what is under way may still arrive in between. */
export interface Brake {
	hold(): void;
	release(): void;
}

/** The events of a process for one reader that misses none: when it is too far behind, they are held back at their source. */
export class HeldEvents extends WaitingEvents<ProcessEvent> {
	readonly #brake: Brake;
	readonly #ended: () => void;
	readonly #events: ProcessEvent[] = [];
	#bytes = 0;
	#isHeld = false;
	#isClosed = false;

	constructor(brake: Brake, ended: () => void) {
		super();
		this.#brake = brake;
		this.#ended = ended;
	}

	push(event: ProcessEvent): void {
		this.#events.push(event);
		this.#bytes += payloadOf(event);
		this.serve();
		if (isLast(event)) this.#release();
		else if (this.#bytes > HOLD_ABOVE_BYTES || this.#events.length > HOLD_ABOVE_EVENTS) this.#hold();
	}

	protected override take(): IteratorResult<ProcessEvent> | undefined {
		if (this.#isClosed) return {done: true, value: undefined};
		const event = this.#events.shift();
		if (!event) return undefined;
		this.#bytes -= payloadOf(event);
		if (isLast(event)) this.end();
		else if (this.#bytes <= RELEASE_BELOW_BYTES && this.#events.length <= RELEASE_BELOW_EVENTS) this.#release();
		return {done: false, value: event};
	}

	#hold(): void {
		if (this.#isHeld) return;
		this.#isHeld = true;
		this.#brake.hold();
	}

	#release(): void {
		if (!this.#isHeld) return;
		this.#isHeld = false;
		this.#brake.release();
	}

	/** Nothing is held back any longer. */
	protected override end(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#events.length = 0;
		this.#ended();
		this.#release();
	}
}
