import {Deferred} from '../../shared/async/deferred.js';
import {abortable} from '../../shared/async/timeout.js';
import type {Transport, TransportEvents} from '../../transports/transport.js';
import {WrappedTransport} from '../../transports/wrapped-transport.js';
import {SessionClient, type SessionClientOptions} from './session-client.js';

/**
 * A session with an executor that connects to the client. Each new connection replaces the previous one and resumes the
 * same session.
 */
export class AcceptedClient {
	readonly client: SessionClient;
	readonly #slot: TransportSlot;
	#isReplacing = false;

	/** The handshake runs over the first connection. */
	static async open(transport: Transport, options: SessionClientOptions = {}): Promise<AcceptedClient> {
		const slot = new TransportSlot();
		slot.offer(transport);
		return new AcceptedClient(await SessionClient.open(signal => slot.next(signal), options), slot);
	}

	private constructor(client: SessionClient, slot: TransportSlot) {
		this.client = client;
		this.#slot = slot;
	}

	/** Resolves when the session is resumed over this connection; rejects when it cannot be. */
	async replace(transport: Transport): Promise<void> {
		if (this.#isReplacing) {
			transport.destroy();
			throw new Error('an accepted exec-server replacement is already in progress');
		}
		this.#isReplacing = true;
		try {
			this.#slot.offer(transport);
			await this.client.recovered();
		} finally {
			this.#isReplacing = false;
		}
	}
}

/** Queue of length one between accepted connections and the session that takes them. */
class TransportSlot {
	#current: RetirableTransport | undefined;
	#offered: RetirableTransport | undefined;
	#arrival = new Deferred();

	offer(transport: Transport): void {
		this.#offered?.destroy();
		this.#offered = new RetirableTransport(transport);
		this.#current?.retire(new Error('exec-server connection replaced'));
		this.#arrival.resolve();
		this.#arrival = new Deferred();
	}

	async next(signal?: AbortSignal): Promise<Transport> {
		while (!this.#offered) {
			signal?.throwIfAborted();
			await abortable(this.#arrival.promise, signal);
		}
		this.#current = this.#offered;
		this.#offered = undefined;
		return this.#current;
	}
}

/** A transport that can be closed with an error of our own. */
class RetirableTransport extends WrappedTransport {
	#events: TransportEvents | undefined;
	#isClosed = false;

	override open(events: TransportEvents): void {
		this.#events = events;
		super.open({...events, closed: error => this.#close(error)});
	}

	retire(reason: Error): void {
		this.#close(reason);
		this.destroy();
	}

	#close(error: Error | undefined): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#events?.closed(error);
	}
}
