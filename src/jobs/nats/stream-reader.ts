import type {Msg} from '@nats-io/transport-node';
import {loadJetStream} from '../../hub/nats/nats-modules.js';
import {Deferred} from '../../shared/async/deferred.js';
import {randomHex} from '../../shared/random-id.js';
import type {JetStreamLink} from './jet-stream-link.js';
import {type DeliveryPlace, PullRequests} from './pull-requests.js';

/** Messages of one request. */
const BATCH = 512;
/** A consumer that nobody asks for so long is removed. */
const INACTIVE_MS = 30_000;
/** Without a message for so long the stream is asked whether there is one. */
const CHECK_MS = 2000;
const NANOS_PER_MS = 1_000_000;
const NAME_BYTES = 8;
/** Times of messages are rounded. */
const ROUNDING_MS = 1;

/** A message of a stream. */
export interface ReadMessage {
	readonly subject: string;
	readonly seq: number;
	readonly header: (name: string) => string | undefined;
	readonly data: Uint8Array;
}

export interface StreamReaderOptions {
	readonly link: JetStreamLink;
	readonly stream: string;
	readonly filter: string;
	/** Leaves the bodies of messages out. */
	readonly headersOnly?: boolean | undefined;
	readonly onMessage: (message: ReadMessage) => void;
	readonly onError: (error: unknown) => void;
}

/**
 * Reads messages of a stream in order, each once, and goes on with new ones. It keeps its own position: a consumer that is
 * lost with its broker, hangs, or leaves something out is replaced by a new one there. A stream that has lost its last messages
 * with its brokers, and gives their numbers to others, is read again from its start: only then a message may come twice.
 */
export class StreamReader {
	readonly #options: StreamReaderOptions;
	readonly #pulls: PullRequests;
	readonly #caughtUp = new Deferred();
	#consumer = '';
	#position = 0;
	/** When the message there was stored. */
	#positionAtMs = 0;
	#consumerSeq = 0;
	/** Whether nothing was behind the last message. */
	#isAtEnd = false;
	#heardAt = performance.now();
	#renewing: Promise<void> | undefined;
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;
	/** Consumers that were made. */
	consumers = 0;

	constructor(options: StreamReaderOptions) {
		this.#options = options;
		const {link, stream} = options;
		this.#pulls = new PullRequests({
			link,
			stream,
			onMessage: (message, place) => this.#take(message, place),
			onEnd: how => this.#goOn(how),
		});
		this.#caughtUp.promise.catch(() => {});
		this.#renew();
		this.#timer = setInterval(() => void this.#check(), CHECK_MS);
	}

	/** Settles when everything that was in the stream at the start has been read. */
	get caughtUp(): Promise<void> {
		return this.#caughtUp.promise;
	}

	/** Whether nothing that this reader has not read is in the stream now. */
	async isCaughtUp(): Promise<boolean> {
		const {link, stream, filter} = this.#options;
		const next = await link.findMessage(stream, {seq: this.#position + 1, next_by_subj: filter});
		return next === undefined || next.seq <= this.#position;
	}

	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		clearInterval(this.#timer);
		this.#pulls.close();
		this.#caughtUp.reject(new Error('the reader is closed'));
		const {link, stream} = this.#options;
		// One that cannot be removed now is removed by the broker.
		if (this.#consumer !== '' && !link.closed.aborted) void link.deleteConsumer(stream, this.#consumer).catch(() => {});
	}

	#take(message: Msg, {seq, storedAtMs, consumerSeq, pending}: DeliveryPlace): void {
		if (this.#isClosed || this.#renewing || !this.#isOurs(message)) return;
		// One was lost on the way: everything behind it is read again.
		if (consumerSeq !== this.#consumerSeq + 1) return this.#renew();
		this.#consumerSeq = consumerSeq;
		this.#heardAt = performance.now();
		this.#position = seq;
		this.#positionAtMs = storedAtMs;
		this.#isAtEnd = pending === 0;
		try {
			const {subject, headers, data} = message;
			this.#options.onMessage({subject, seq, data, header: name => headers?.get(name) || undefined});
		} catch (error) {
			this.#options.onError(error);
		}
		if (this.#isAtEnd) this.#caughtUp.resolve();
	}

	/** A late message of an earlier consumer is not in its place any more. */
	#isOurs({reply = ''}: Msg): boolean {
		return reply.includes(`.${this.#consumer}.`);
	}

	#goOn(how: 'served' | 'expired' | 'lost'): void {
		if (this.#isClosed || this.#renewing) return;
		if (how === 'lost') this.#renew();
		else this.#pulls.request(this.#consumer, BATCH);
	}

	#renew(): void {
		if (this.#isClosed || this.#renewing) return;
		this.#renewing = this.#makeConsumer()
			.catch((error: unknown) => {
				if (this.#isClosed) return;
				this.#caughtUp.reject(error);
				this.#options.onError(error);
			})
			.finally(() => {
				this.#renewing = undefined;
				if (!this.#isClosed && !this.#pulls.isWaiting) this.#pulls.request(this.#consumer, BATCH);
			});
	}

	async #makeConsumer(): Promise<void> {
		const {link, stream, filter, headersOnly} = this.#options;
		const {AckPolicy, DeliverPolicy} = loadJetStream();
		const old = this.#consumer;
		if (old !== '') void link.deleteConsumer(stream, old).catch(() => {});
		if (!(await this.#isInPlace())) this.#position = 0;
		const name = `read-${randomHex(NAME_BYTES)}`;
		const info = await link.ensureConsumer(stream, {
			name,
			ack_policy: AckPolicy.None,
			deliver_policy: DeliverPolicy.StartSequence,
			opt_start_seq: this.#position + 1,
			filter_subject: filter,
			...(headersOnly && {headers_only: true}),
			inactive_threshold: INACTIVE_MS * NANOS_PER_MS,
			mem_storage: true,
			num_replicas: 1,
		});
		this.#consumer = name;
		this.#consumerSeq = 0;
		this.consumers++;
		this.#heardAt = performance.now();
		this.#isAtEnd = info.num_pending === 0;
		if (this.#isAtEnd) this.#caughtUp.resolve();
	}

	/** Whether the last message that was read is still the one with its number. */
	async #isInPlace(): Promise<boolean> {
		if (this.#position === 0) return true;
		const {link, stream} = this.#options;
		const message = await link.findMessage(stream, {seq: this.#position});
		return message !== undefined && Math.abs(message.time.getTime() - this.#positionAtMs) <= ROUNDING_MS;
	}

	/** A consumer may hang although it shows signs of life. */
	async #check(): Promise<void> {
		if (this.#renewing || performance.now() - this.#heardAt < CHECK_MS) return;
		const position = this.#position;
		try {
			if (await this.isCaughtUp()) return;
			const isStill = this.#position === position && performance.now() - this.#heardAt >= CHECK_MS;
			if (isStill) this.#renew();
		} catch (error) {
			if (!this.#isClosed) this.#options.onError(error);
		}
	}
}
