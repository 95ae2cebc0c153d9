import {isLast, type Lagged, type ProcessEvent, payloadOf, type StreamEvent} from './process-handle.js';

/** Live events a subscriber may be behind before the oldest are dropped. */
export const MAX_LIVE_EVENTS = 256;
/** Back-pressure: a lossless subscriber that is behind by more pauses the source, until it is behind by less. */
export const PAUSE_SOURCE_ABOVE_BYTES = 1024 * 1024;
export const RESUME_SOURCE_BELOW_BYTES = 256 * 1024;
/** The same in events, so that many small ones do not count as little. */
export const PAUSE_SOURCE_ABOVE_EVENTS = 1024;
export const RESUME_SOURCE_BELOW_EVENTS = 256;

/** A source of events that can be paused; events that are under way may still arrive in between. */
export interface PausableSource {
	pause(): void;
	resume(): void;
}

/** Async iterator over pushed events: readers that ask before there is one wait in a queue. */
abstract class Subscription<T> implements AsyncIterableIterator<T> {
	readonly #readers: ((result: IteratorResult<T>) => void)[] = [];

	[Symbol.asyncIterator](): this {
		return this;
	}

	next(): Promise<IteratorResult<T>> {
		const taken = this.take();
		return taken ? Promise.resolve(taken) : new Promise(resolve => this.#readers.push(resolve));
	}

	/** Ends the subscription from the reader's side. */
	return(): Promise<IteratorResult<T>> {
		this.end();
		this.serve();
		return Promise.resolve({done: true, value: undefined});
	}

	/** The next event; undefined when there is none yet, and done for ever after the end. */
	protected abstract take(): IteratorResult<T> | undefined;

	protected abstract end(): void;

	/** Gives waiting readers what there is; at the end all of them get the end. */
	protected serve(): void {
		for (let resolve = this.#readers[0]; resolve; resolve = this.#readers[0]) {
			const next = this.take();
			if (!next) return;
			this.#readers.shift();
			resolve(next);
		}
	}
}

/** Replays the retained events, then follows the live ones. A slow reader loses the oldest, which a `Lagged` announces. */
export class LaggingSubscription extends Subscription<StreamEvent> {
	readonly #replay: ProcessEvent[];
	readonly #live: ProcessEvent[] = [];
	readonly #ended: () => void;
	/** Events from before the replay that the stream no longer retains. */
	#missedBefore: number;
	/** Events dropped between the replay and the oldest live one. */
	#missedSince = 0;
	#lastSeq = 0;
	#isClosed = false;

	constructor(replay: ProcessEvent[], missedBefore: number, ended: () => void) {
		super();
		this.#replay = replay;
		this.#missedBefore = missedBefore;
		this.#ended = ended;
	}

	push(event: ProcessEvent): void {
		this.#live.push(event);
		if (this.#live.length > MAX_LIVE_EVENTS) {
			this.#live.shift();
			this.#missedSince++;
		}
		this.serve();
	}

	/** The replay comes first, then the gap, then the live events. */
	protected override take(): IteratorResult<StreamEvent> | undefined {
		if (this.#isClosed) return {done: true, value: undefined};
		const missed = this.#missedBefore || (this.#replay.length === 0 ? this.#missedSince : 0);
		if (missed > 0) {
			if (this.#missedBefore > 0) this.#missedBefore = 0;
			else this.#missedSince = 0;
			return {done: false, value: {kind: 'lagged', missed, afterSeq: this.#lastSeq} satisfies Lagged};
		}
		const event = this.#replay.shift() ?? this.#live.shift();
		if (!event) return undefined;
		if ('seq' in event) this.#lastSeq = event.seq;
		if (isLast(event)) this.end();
		return {done: false, value: event};
	}

	protected override end(): void {
		this.#isClosed = true;
		this.#ended();
	}
}

/** Loses no event: while its reader is too far behind, the source is paused. */
export class LosslessSubscription extends Subscription<ProcessEvent> {
	readonly #source: PausableSource;
	readonly #ended: () => void;
	readonly #events: ProcessEvent[] = [];
	#bytes = 0;
	#isPaused = false;
	#isClosed = false;

	constructor(source: PausableSource, ended: () => void) {
		super();
		this.#source = source;
		this.#ended = ended;
	}

	push(event: ProcessEvent): void {
		this.#events.push(event);
		this.#bytes += payloadOf(event);
		this.serve();
		if (isLast(event)) this.#resume();
		else if (this.#bytes > PAUSE_SOURCE_ABOVE_BYTES || this.#events.length > PAUSE_SOURCE_ABOVE_EVENTS) this.#pause();
	}

	protected override take(): IteratorResult<ProcessEvent> | undefined {
		if (this.#isClosed) return {done: true, value: undefined};
		const event = this.#events.shift();
		if (!event) return undefined;
		this.#bytes -= payloadOf(event);
		if (isLast(event)) this.end();
		else if (this.#bytes <= RESUME_SOURCE_BELOW_BYTES && this.#events.length <= RESUME_SOURCE_BELOW_EVENTS)
			this.#resume();
		return {done: false, value: event};
	}

	#pause(): void {
		if (this.#isPaused) return;
		this.#isPaused = true;
		this.#source.pause();
	}

	#resume(): void {
		if (!this.#isPaused) return;
		this.#isPaused = false;
		this.#source.resume();
	}

	/** Without a reader nothing is held back. */
	protected override end(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#events.length = 0;
		this.#ended();
		this.#resume();
	}
}
