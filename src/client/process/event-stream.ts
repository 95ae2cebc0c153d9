import {holdProgram, releaseProgram} from '../../shared/async/keep-alive.js';
import {DeferredTrim} from './deferred-trim.js';
import {isLast, type Lagged, type ProcessEvent, payloadOf, type StreamEvent} from './process-handle.js';

/** Events retained for late subscribers, and their payload. */
export const MAX_HISTORY_EVENTS = 256;
export const MAX_HISTORY_BYTES = 1024 * 1024;
/** Queued live events of a slow subscriber, and their payload; above it the oldest are dropped. */
export const MAX_LIVE_EVENTS = 1024;
export const MAX_LIVE_BYTES = 4 * 1024 * 1024;
/** Back-pressure: high and low water marks of a lossless subscriber's queue. */
export const PAUSE_SOURCE_ABOVE_BYTES = 1024 * 1024;
export const RESUME_SOURCE_BELOW_BYTES = 256 * 1024;
/** The same in events: each has a cost, however small its payload. */
export const PAUSE_SOURCE_ABOVE_EVENTS = 1024;
export const RESUME_SOURCE_BELOW_EVENTS = 256;

/** Fan-out of the events of one process to any number of subscribers, with a bounded history for late ones. */
export class ProcessEventStream {
	readonly #history: ProcessEvent[] = [];
	readonly #historyTrim = new DeferredTrim(() => this.#trimHistory());
	#historyBytes = 0;
	#evicted = 0;
	#isClosed = false;
	#isAbandoned = false;
	readonly #subscriptions = new Set<LaggingSubscription | LosslessSubscription>();
	/** Reserved for the first subscriber, from the beginning. */
	#lossless: LosslessSubscription | undefined;

	/** With a source to pause, the first subscriber misses nothing, whenever it comes and however slow it is. */
	constructor(source?: PausableSource) {
		if (!source) return;
		const lossless = new LosslessSubscription(source, () => this.#subscriptions.delete(lossless));
		this.#lossless = lossless;
		this.#subscriptions.add(lossless);
	}

	/** True if the last event was published. */
	get isClosed(): boolean {
		return this.#isClosed;
	}

	publish(event: ProcessEvent): void {
		if (this.#isClosed) return;
		this.#isClosed = isLast(event);
		this.#history.push(event);
		this.#historyBytes += payloadOf(event);
		if (this.#isHistoryFull()) this.#historyTrim.schedule();
		for (const subscription of this.#subscriptions) subscription.push(event);
	}

	/** Ends every subscription without a last event: this client is not told any more. */
	end(): void {
		this.#isClosed = true;
		this.#isAbandoned = true;
		for (const subscription of this.#subscriptions) void subscription.return();
	}

	/** The retained events, then the live ones, without a gap or a repeat in between; ends with the last event. */
	subscribe(): AsyncIterableIterator<StreamEvent> {
		const lossless = this.#lossless;
		this.#lossless = undefined;
		if (lossless) return lossless;
		const subscription = new LaggingSubscription([...this.#history], this.#evicted, () => {
			this.#subscriptions.delete(subscription);
		});
		if (!this.#isClosed) this.#subscriptions.add(subscription);
		if (this.#isAbandoned) void subscription.return();
		return subscription;
	}

	#isHistoryFull(): boolean {
		return this.#history.length > MAX_HISTORY_EVENTS || this.#historyBytes > MAX_HISTORY_BYTES;
	}

	#trimHistory(): void {
		let excess = 0;
		for (; this.#history.length - excess > MAX_HISTORY_EVENTS || this.#historyBytes > MAX_HISTORY_BYTES; excess++) {
			this.#historyBytes -= payloadOf(this.#history[excess]!);
		}
		this.#history.splice(0, excess);
		this.#evicted += excess;
	}
}

/** A source of events that can be paused; events that were sent before may still arrive. */
export interface PausableSource {
	pause(): void;
	resume(): void;
	/** Where the high-water marks are, as a multiple of the usual ones: sources that bound themselves need not be paused. */
	readonly patience?: number;
	/** The reader has taken this event. */
	taken?(event: ProcessEvent): void;
	/** The reader has left before the last event. */
	abandoned?(): void;
}

/** Async iterator over pushed events, with a queue of waiting readers. */
abstract class Subscription<T> implements AsyncIterableIterator<T> {
	readonly #readers: ((result: IteratorResult<T>) => void)[] = [];

	[Symbol.asyncIterator](): this {
		return this;
	}

	next(): Promise<IteratorResult<T>> {
		const taken = this.take();
		if (taken) return Promise.resolve(taken);
		if (this.#readers.length === 0) holdProgram();
		return new Promise(resolve => this.#readers.push(resolve));
	}

	/** Ends the subscription; called by the reader. */
	return(): Promise<IteratorResult<T>> {
		this.end();
		this.serve();
		return Promise.resolve({done: true, value: undefined});
	}

	/** The next event; undefined when there is none yet, and done for ever after the end. */
	protected abstract take(): IteratorResult<T> | undefined;

	protected abstract end(): void;

	/** Resolves waiting readers with the available events; all of them once the subscription has ended. */
	protected serve(): void {
		for (let resolve = this.#readers[0]; resolve; resolve = this.#readers[0]) {
			const next = this.take();
			if (!next) return;
			this.#readers.shift();
			if (this.#readers.length === 0) releaseProgram();
			resolve(next);
		}
	}
}

/**
 * Replays the retained events, then follows the live ones. A slow reader loses the oldest and gets a `Lagged` instead; one
 * that takes all there is in each turn of the event loop loses none.
 */
export class LaggingSubscription extends Subscription<StreamEvent> {
	readonly #replay: ProcessEvent[];
	readonly #live: ProcessEvent[] = [];
	readonly #liveTrim = new DeferredTrim(() => this.#trimLive());
	#liveBytes = 0;
	readonly #onEnd: () => void;
	/** Events from before the replay that the stream no longer retains. */
	#missedBefore: number;
	/** Events dropped between the replay and the oldest live one. */
	#missedSince = 0;
	#lastSeq = 0;
	#isClosed = false;

	constructor(replay: ProcessEvent[], missedBefore: number, onEnd: () => void) {
		super();
		this.#replay = replay;
		this.#missedBefore = missedBefore;
		this.#onEnd = onEnd;
	}

	push(event: ProcessEvent): void {
		this.#live.push(event);
		this.#liveBytes += payloadOf(event);
		this.serve();
		if (this.#isLiveFull()) this.#liveTrim.schedule();
	}

	#isLiveFull(): boolean {
		return this.#live.length > MAX_LIVE_EVENTS || this.#liveBytes > MAX_LIVE_BYTES;
	}

	#trimLive(): void {
		while (this.#isLiveFull()) {
			this.#liveBytes -= payloadOf(this.#live.shift()!);
			this.#missedSince++;
		}
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
		const event = this.#replay.shift() ?? this.#takeLive();
		if (!event) return undefined;
		if ('seq' in event) this.#lastSeq = event.seq;
		if (isLast(event)) this.end();
		return {done: false, value: event};
	}

	#takeLive(): ProcessEvent | undefined {
		const event = this.#live.shift();
		if (event) this.#liveBytes -= payloadOf(event);
		return event;
	}

	protected override end(): void {
		this.#isClosed = true;
		this.#live.length = 0;
		this.#liveBytes = 0;
		this.#onEnd();
	}
}

/** Loses no event: pauses the source while its reader is too far behind (back-pressure). */
export class LosslessSubscription extends Subscription<ProcessEvent> {
	readonly #source: PausableSource;
	readonly #onEnd: () => void;
	readonly #events: ProcessEvent[] = [];
	#bytes = 0;
	#isPaused = false;
	#isClosed = false;

	constructor(source: PausableSource, onEnd: () => void) {
		super();
		this.#source = source;
		this.#onEnd = onEnd;
	}

	push(event: ProcessEvent): void {
		this.#events.push(event);
		this.#bytes += payloadOf(event);
		this.serve();
		if (isLast(event)) this.#resume();
		else if (this.#isBehind()) this.#pause();
	}

	#isBehind(): boolean {
		const {patience = 1} = this.#source;
		return (
			this.#bytes > PAUSE_SOURCE_ABOVE_BYTES * patience || this.#events.length > PAUSE_SOURCE_ABOVE_EVENTS * patience
		);
	}

	protected override take(): IteratorResult<ProcessEvent> | undefined {
		if (this.#isClosed) return {done: true, value: undefined};
		const event = this.#events.shift();
		if (!event) return undefined;
		this.#bytes -= payloadOf(event);
		if (isLast(event)) this.#close();
		else if (this.#bytes <= RESUME_SOURCE_BELOW_BYTES && this.#events.length <= RESUME_SOURCE_BELOW_EVENTS)
			this.#resume();
		this.#source.taken?.(event);
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

	/** Resumes the source: without a reader there is nothing to wait for. */
	protected override end(): void {
		if (this.#isClosed) return;
		this.#close();
		this.#source.abandoned?.();
	}

	#close(): void {
		this.#isClosed = true;
		this.#events.length = 0;
		this.#onEnd();
		this.#resume();
	}
}
