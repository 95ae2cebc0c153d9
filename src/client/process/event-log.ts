import {type Brake, HeldEvents} from './held-events.js';
import {isLast, type ProcessEvent, payloadOf} from './process-handle.js';
import {WaitingEvents} from './waiting-events.js';

/** Events kept for those who come late, and their payload. */
export const HISTORY_EVENTS = 256;
export const HISTORY_BYTES = 1024 * 1024;
/** Events a subscriber may be behind. */
export const LIVE_EVENTS = 256;

/** Events were dropped because the subscriber came or took too late; a read from `afterSeq` may still have them. */
export interface Lagged {
	readonly kind: 'lagged';
	readonly missed: number;
	readonly afterSeq: number;
}

export type StreamEvent = ProcessEvent | Lagged;

/** What happened to a process, for any number of subscribers at any time. */
export class EventLog {
	readonly #history: ProcessEvent[] = [];
	#historyBytes = 0;
	#evicted = 0;
	#isClosed = false;
	readonly #subscriptions = new Set<Subscription | HeldEvents>();
	/** For the first subscriber, from the beginning. */
	#held: HeldEvents | undefined;

	/** With a brake the first subscriber misses nothing, whenever it comes and however slow it is. */
	constructor(brake?: Brake) {
		if (!brake) return;
		const held = new HeldEvents(brake, () => this.#subscriptions.delete(held));
		this.#held = held;
		this.#subscriptions.add(held);
	}

	/** After the last event there are no others. */
	get isOver(): boolean {
		return this.#isClosed;
	}

	publish(event: ProcessEvent): void {
		if (this.#isClosed) return;
		this.#isClosed = isLast(event);
		this.#history.push(event);
		this.#historyBytes += payloadOf(event);
		while (this.#history.length > HISTORY_EVENTS || this.#historyBytes > HISTORY_BYTES) {
			this.#historyBytes -= payloadOf(this.#history.shift()!);
			this.#evicted++;
		}
		for (const subscription of this.#subscriptions) subscription.push(event);
	}

	/** What is kept, then what comes, without a gap or a repeat between the two; ends with the last event. */
	subscribe(): AsyncIterableIterator<StreamEvent> {
		const held = this.#held;
		this.#held = undefined;
		if (held) return held;
		const subscription = new Subscription([...this.#history], this.#evicted, () => {
			this.#subscriptions.delete(subscription);
		});
		if (!this.#isClosed) this.#subscriptions.add(subscription);
		return subscription;
	}
}

class Subscription extends WaitingEvents<StreamEvent> {
	readonly #replay: ProcessEvent[];
	readonly #live: ProcessEvent[] = [];
	readonly #ended: () => void;
	/** Those the log did not keep, before everything else. */
	#missedBefore: number;
	/** Those that came while nobody took any, behind what is replayed. */
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
		if (this.#live.length > LIVE_EVENTS) {
			this.#live.shift();
			this.#missedSince++;
		}
		this.serve();
	}

	/** Undefined when there is nothing yet. What is replayed comes first, then the gap, then what is live. */
	protected override take(): IteratorResult<StreamEvent> | undefined {
		if (this.#isClosed) return {done: true, value: undefined};
		const missed = this.#missedBefore || (this.#replay.length === 0 ? this.#missedSince : 0);
		if (missed > 0) {
			if (this.#missedBefore > 0) this.#missedBefore = 0;
			else this.#missedSince = 0;
			return {done: false, value: {kind: 'lagged', missed, afterSeq: this.#lastSeq}};
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
