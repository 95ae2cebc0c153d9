import type {Msg, Subscription} from '@nats-io/transport-node';
import {INBOX_PREFIX} from '../../hub/nats/nats-link.js';
import {loadTransport} from '../../hub/nats/nats-modules.js';
import type {JetStreamLink} from './jet-stream-link.js';

/** A broker keeps a request so long. */
const EXPIRES_MS = 10_000;
/** A request that is kept shows so often that it is. */
const HEARTBEAT_MS = 1000;
/** Without any sign of it for so long a request counts as lost. */
const MAX_SILENCE_MS = 2500;
const NANOS_PER_MS = 1_000_000;
const HEARTBEAT = 100;
/** Answer to a request for a consumer that is not there, or has no leader. */
const NO_RESPONDERS = 503;
const CONSUMER_DELETED = /consumer deleted/i;
const LEAST_REPLY_TOKENS = 9;

/** Place of a delivered message. */
export interface DeliveryPlace {
	/** How often it was delivered, this time included. */
	readonly deliveries: number;
	readonly seq: number;
	/** When it was stored, in milliseconds since 1970 by the clock of the broker. */
	readonly storedAtMs: number;
	/** Position among the deliveries of the consumer. */
	readonly consumerSeq: number;
	/** Messages behind it. */
	readonly pending: number;
}

export interface PullRequestsOptions {
	readonly link: JetStreamLink;
	readonly stream: string;
	readonly onMessage: (message: Msg, place: DeliveryPlace) => void;
	/** A request has ended, or is lost; the next one may be made. */
	readonly onEnd: (how: 'served' | 'expired' | 'lost') => void;
}

/**
 * Requests for messages of one consumer, one at a time. The client's own consumers hide when a request is lost with its
 * broker; here silence is noticed within seconds.
 */
export class PullRequests {
	readonly #options: PullRequestsOptions;
	readonly #inbox = loadTransport().createInbox(INBOX_PREFIX);
	readonly #subscription: Subscription;
	#number = 0;
	/** Messages that the present request may still bring; 0 without one. */
	#left = 0;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: PullRequestsOptions) {
		this.#options = options;
		this.#subscription = options.link.connection.subscribe(`${this.#inbox}.*`, {
			callback: (error, message) => {
				if (!error) this.#take(message);
			},
		});
	}

	get isWaiting(): boolean {
		return this.#left > 0;
	}

	request(consumer: string, batch: number): void {
		const {link, stream} = this.#options;
		const reply = `${this.#inbox}.${++this.#number}`;
		const asked = {batch, expires: EXPIRES_MS * NANOS_PER_MS, idle_heartbeat: HEARTBEAT_MS * NANOS_PER_MS};
		this.#left = batch;
		this.#watch();
		link.connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(asked), {reply});
	}

	close(): void {
		clearTimeout(this.#timer);
		this.#left = 0;
		this.#subscription.unsubscribe();
	}

	#take(message: Msg): void {
		const place = message.reply === undefined ? undefined : parseReply(message.reply);
		if (!place) {
			// Only a status has the subject of its request; messages have those of the stream.
			if (message.subject.endsWith(`.${this.#number}`)) this.#hearStatus(message);
			return;
		}
		const isLast = this.#left === 1;
		if (this.#left > 0) {
			this.#left--;
			this.#watch();
		}
		this.#options.onMessage(message, place);
		if (isLast) this.#end('served');
	}

	/** Everything else than a sign of life ends the request. */
	#hearStatus({headers}: Msg): void {
		if (headers?.code === HEARTBEAT) return this.#watch();
		if (this.#left === 0) return;
		const isGone = headers?.code === NO_RESPONDERS || CONSUMER_DELETED.test(headers?.description ?? '');
		this.#end(isGone ? 'lost' : 'expired');
	}

	#watch(): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.#end('lost'), MAX_SILENCE_MS);
	}

	#end(how: 'served' | 'expired' | 'lost'): void {
		clearTimeout(this.#timer);
		this.#left = 0;
		this.#options.onEnd(how);
	}
}

/** `$JS.ACK.STREAM.CONSUMER.DELIVERIES.SEQ.CONSUMERSEQ.TIME.PENDING`, with a domain and an account in later versions. */
function parseReply(reply: string): DeliveryPlace | undefined {
	const tokens = reply.split('.');
	if (tokens[0] !== '$JS' || tokens[1] !== 'ACK' || tokens.length < LEAST_REPLY_TOKENS) return undefined;
	const from = tokens.length === LEAST_REPLY_TOKENS ? 4 : 6;
	const [deliveries, seq, consumerSeq, nanos, pending] = tokens.slice(from).map(Number);
	const storedAtMs = Math.floor(nanos! / NANOS_PER_MS);
	return {deliveries: deliveries!, seq: seq!, storedAtMs, consumerSeq: consumerSeq!, pending: pending!};
}
