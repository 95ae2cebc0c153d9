import type {ConsumerConfig} from '@nats-io/jetstream';
import type {Msg} from '@nats-io/transport-node';
import {loadJetStream} from '../../hub/nats/nats-modules.js';
import type {ItemTable} from '../store/item-table.js';
import type {ItemQueue, StoredItem} from '../store/job-store.js';
import type {JetStreamLink} from './jet-stream-link.js';
import {itemOf} from './job-subjects.js';
import {type DeliveryPlace, PullRequests} from './pull-requests.js';

/** An item of a runner that is gone comes to another one after so long. */
export const ACK_WAIT_MS = 30_000;
/** A refused item waits so long before it is delivered again. */
const REFUSED_MS = 1000;
/** Pause after a request that was lost, or ended without items. */
const PAUSE_MS = 250;
const NANOS_PER_MS = 1_000_000;

export interface ItemDeliveriesOptions {
	readonly link: JetStreamLink;
	readonly stream: string;
	/** Consumer of the items of the job, which all its runners share. */
	readonly consumer: Partial<ConsumerConfig> & {readonly name: string};
	readonly table: ItemTable;
	/** Whether the result of the item is known. */
	readonly isSettled: (item: number) => boolean;
	/** Retries that earlier attempts at an item have used up. */
	readonly readRetries: (item: number) => Promise<number>;
	/** An item was delivered that is done here, although its result is not known from the stream; settles when it is, or waits again. */
	readonly onDoneBefore: (item: number) => Promise<void>;
	readonly wake: () => void;
	readonly onError: (error: unknown) => void;
}

interface Held {
	/** Subject for the acknowledgement. */
	reply: string;
	readonly stored: StoredItem;
}

export function itemConsumerName(jobId: string): string {
	return `job-${jobId}`;
}

/** Consumer of the items of a job: explicit acknowledgement, and no more out at once than the job wants to run. */
export function itemConsumer(jobId: string, filter: string, maxConcurrency: number): ItemDeliveriesOptions['consumer'] {
	const {AckPolicy, DeliverPolicy} = loadJetStream();
	const name = itemConsumerName(jobId);
	return {
		name,
		durable_name: name,
		filter_subject: filter,
		ack_policy: AckPolicy.Explicit,
		ack_wait: ACK_WAIT_MS * NANOS_PER_MS,
		deliver_policy: DeliverPolicy.All,
		max_ack_pending: maxConcurrency,
		max_deliver: -1,
	};
}

/**
 * Items of a job as the queue delivers them. A delivery is the claim; it is kept alive while the item is worked at, and ends
 * with its result, or goes back.
 */
export class ItemDeliveries implements ItemQueue {
	readonly #options: ItemDeliveriesOptions;
	readonly #pulls: PullRequests;
	readonly #held = new Map<number, Held>();
	/** Delivered, and not taken by the runner. */
	readonly #waiting: number[] = [];
	#wanted = 0;
	#isWaking = false;
	#isClosed = false;
	#pause: NodeJS.Timeout | undefined;
	readonly #timer: NodeJS.Timeout;

	constructor(options: ItemDeliveriesOptions) {
		this.#options = options;
		const {link, stream} = options;
		this.#pulls = new PullRequests({
			link,
			stream,
			onMessage: (message, place) => void this.#receive(message, place),
			onEnd: how => this.#goOn(how),
		});
		this.#timer = setInterval(() => this.#keepAlive(), ACK_WAIT_MS / 3);
	}

	/** Row of an item that is held. */
	find(item: number): StoredItem | undefined {
		return this.#held.get(item)?.stored;
	}

	take(): number | undefined {
		for (let item = this.#waiting.shift(); item !== undefined; item = this.#waiting.shift()) {
			if (!this.#options.isSettled(item)) return item;
			this.acknowledge(item);
		}
		return undefined;
	}

	giveBack(): void {
		// The record of its return has sent it back to the queue.
	}

	want(count: number): void {
		this.#wanted = Math.max(0, count - this.#waiting.length);
		if (!this.#pause) this.#pull();
	}

	/** The item is done with. */
	acknowledge(item: number): void {
		this.#answer(item, '+ACK');
	}

	/** The item is to be delivered again, to any runner. */
	return(item: number, isRefused: boolean): void {
		this.#answer(item, isRefused ? `-NAK ${JSON.stringify({delay: REFUSED_MS * NANOS_PER_MS})}` : '-NAK');
	}

	/** Items that were not begun go back. */
	returnWaiting(): void {
		for (const item of this.#waiting.splice(0)) this.return(item, false);
	}

	close(): void {
		this.#isClosed = true;
		clearInterval(this.#timer);
		clearTimeout(this.#pause);
		this.#pulls.close();
		for (const item of this.#held.keys()) this.return(item, false);
	}

	async #receive({subject, data, reply = ''}: Msg, {deliveries}: DeliveryPlace): Promise<void> {
		const item = itemOf(subject);
		const {isSettled, table, readRetries, onDoneBefore, onError} = this.#options;
		const known = this.#held.get(item);
		// Delivered again while it is worked at here: the attempt goes on under the new delivery.
		if (known) {
			known.reply = reply;
			return;
		}
		try {
			this.#held.set(item, {reply, stored: JSON.parse(Buffer.from(data).toString()) as StoredItem});
			this.#wanted = Math.max(0, this.#wanted - 1);
			if (!isSettled(item) && !table.isPending(item)) await onDoneBefore(item);
			const retries = deliveries > 1 && !isSettled(item) ? await readRetries(item) : 0;
			if (isSettled(item)) return this.#skip(item);
			table.restore(item, deliveries - 1, retries);
			if (this.#isClosed || table.cancelReason !== undefined) return this.return(item, false);
			this.#waiting.push(item);
			this.#wakeSoon();
		} catch (error) {
			onError(error);
		}
	}

	/** An item that was done before is none of those that the runner wants: it has to say again how many it wants. */
	#skip(item: number): void {
		this.acknowledge(item);
		this.#wakeSoon();
	}

	/** One call for all items of this turn. */
	#wakeSoon(): void {
		if (this.#isWaking) return;
		this.#isWaking = true;
		setImmediate(() => {
			this.#isWaking = false;
			if (!this.#isClosed) this.#options.wake();
		});
	}

	#pull(): void {
		if (this.#isClosed || this.#wanted === 0 || this.#pulls.isWaiting) return;
		this.#pulls.request(this.#options.consumer.name, this.#wanted);
	}

	#goOn(how: 'served' | 'expired' | 'lost'): void {
		if (this.#isClosed) return;
		if (how === 'served') return this.#pull();
		void this.#pauseAndPull(how === 'lost');
	}

	/** After a loss the consumer may be gone with its broker, too. */
	async #pauseAndPull(isLost: boolean): Promise<void> {
		const {link, stream, consumer, onError} = this.#options;
		clearTimeout(this.#pause);
		this.#pause = setTimeout(() => {}, PAUSE_MS);
		try {
			if (isLost) await link.ensureConsumer(stream, consumer);
		} catch (error) {
			if (!this.#isClosed) onError(error);
			return;
		}
		clearTimeout(this.#pause);
		this.#pause = setTimeout(() => {
			this.#pause = undefined;
			this.#pull();
		}, PAUSE_MS);
	}

	/** The runner is asked as well what it wants: if that were lost, it would never get an item again. */
	#keepAlive(): void {
		for (const {reply} of this.#held.values()) this.#say(reply, '+WPI');
		this.#wakeSoon();
	}

	#answer(item: number, text: string): void {
		const held = this.#held.get(item);
		if (!held) return;
		this.#held.delete(item);
		this.#say(held.reply, text);
	}

	/** After the end of the connection the broker learns by itself that nobody works at the item. */
	#say(reply: string, text: string): void {
		const {connection} = this.#options.link;
		if (!connection.isClosed()) connection.publish(reply, text);
	}
}
