import {isLast, type ProcessEvent, payloadOf, type StreamEvent} from './process-handle.js';
import {LaggingSubscription, LosslessSubscription, type PausableSource} from './subscriptions.js';

/** Events retained for late subscribers, and their payload. */
export const MAX_HISTORY_EVENTS = 256;
export const MAX_HISTORY_BYTES = 1024 * 1024;

/** Fan-out of the events of one process to any number of subscribers, with a bounded history for late ones. */
export class ProcessEventStream {
	readonly #history: ProcessEvent[] = [];
	#historyBytes = 0;
	#evicted = 0;
	#isClosed = false;
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
		while (this.#history.length > MAX_HISTORY_EVENTS || this.#historyBytes > MAX_HISTORY_BYTES) {
			this.#historyBytes -= payloadOf(this.#history.shift()!);
			this.#evicted++;
		}
		for (const subscription of this.#subscriptions) subscription.push(event);
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
		return subscription;
	}
}
