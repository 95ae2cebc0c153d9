import type {ConsumerInfo} from '@nats-io/jetstream';
import {waitAtMost} from '../../shared/async/timeout.js';
import {ACK_WAIT_MS, type ItemDeliveriesOptions} from './item-deliveries.js';
import type {JetStreamLink} from './jet-stream-link.js';
import {countKeptItems} from './kept-items.js';

/** A queue that looks wrong is looked at again after so long: acknowledgements may have been on their way. */
const LOOK_AGAIN_MS = 3000;
/** An item whose time is over has been delivered again, or has a result, after so long. */
const MAX_LATE_MS = 2 * ACK_WAIT_MS;

export interface QueueConsumerOptions {
	readonly link: JetStreamLink;
	readonly stream: string;
	readonly config: ItemDeliveriesOptions['consumer'];
	/** Longest time of an attempt at an item. */
	readonly maxRuntimeMs: number;
}

interface QueueState {
	/** Items in the queue. */
	readonly kept: number;
	readonly consumer: ConsumerInfo | undefined;
}

/**
 * The consumer of the items of a job, as the coordinator looks after it. Its position is replicated apart from the queue, so
 * that brokers that are killed can leave the two in disagreement: it takes items for delivered that nobody has, and never offers
 * them again, or waits for items that are gone. A new consumer offers everything that is in the queue.
 */
export class QueueConsumer {
	readonly #options: QueueConsumerOptions;
	/** Number of deliveries at the last look, and when it was seen first. */
	#delivered = {seq: -1, at: 0};

	constructor(options: QueueConsumerOptions) {
		this.#options = options;
	}

	async ensure(): Promise<void> {
		const {link, stream, config} = this.#options;
		await link.ensureConsumer(stream, config);
	}

	/** Whether it has nothing to offer, and waits for no acknowledgement. */
	async isIdle(): Promise<boolean> {
		const {link, stream, config} = this.#options;
		const consumer = await link.findConsumer(stream, config.name);
		return !consumer || countKnown(consumer) === 0;
	}

	/**
	 * Replaces a consumer that will not offer every item of the queue; settles with what was wrong with it. `progress` is a number
	 * that changes while results come.
	 */
	async repair(progress: () => number, signal: AbortSignal): Promise<string | undefined> {
		const [before, progressBefore] = [await this.#read(), progress()];
		if (this.#findProblem(before) === undefined) return undefined;
		await waitAtMost(new Promise(() => {}), LOOK_AGAIN_MS, signal);
		const after = await this.#read();
		const problem = this.#findProblem(after);
		if (signal.aborted || problem === undefined || progress() !== progressBefore) return undefined;
		if (deliveriesOf(before) !== deliveriesOf(after) || before.kept !== after.kept) return undefined;
		const {link, stream, config} = this.#options;
		await link.deleteConsumer(stream, config.name);
		await this.ensure();
		return problem;
	}

	async #read(): Promise<QueueState> {
		const {link, stream, config} = this.#options;
		const [consumer, kept] = await Promise.all([
			link.findConsumer(stream, config.name),
			countKeptItems(link, stream, config.filter_subject!),
		]);
		const seq = deliveriesOf({consumer, kept});
		if (seq !== this.#delivered.seq) this.#delivered = {seq, at: performance.now()};
		return {consumer, kept};
	}

	#findProblem({kept, consumer}: QueueState): string | undefined {
		if (!consumer) return 'the queue has no consumer';
		const known = countKnown(consumer);
		if (known !== kept) return `the queue has ${kept} items, and its consumer knows of ${known}`;
		const {num_pending: waiting, num_ack_pending: claimed, num_waiting: asked} = consumer;
		const hasRoom = claimed < this.#options.config.max_ack_pending!;
		if (waiting > 0 && asked > 0 && hasRoom) return 'the consumer of the queue offers nothing to runners that ask';
		const isLate = performance.now() - this.#delivered.at > this.#options.maxRuntimeMs + MAX_LATE_MS;
		return claimed > 0 && isLate ? 'items are claimed for longer than they may run' : undefined;
	}
}

function countKnown({num_pending: waiting, num_ack_pending: claimed}: ConsumerInfo): number {
	return waiting + claimed;
}

function deliveriesOf({consumer}: QueueState): number {
	return consumer?.delivered.consumer_seq ?? 0;
}
