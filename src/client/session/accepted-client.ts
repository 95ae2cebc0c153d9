import type {Transport, TransportEvents} from '../../transports/transport.js';
import {WrappedTransport} from '../../transports/wrapped-transport.js';
import {SessionClient, type SessionClientOptions} from './session-client.js';

/**
 * A session with an executor that dials in. Connections are handed over as they come: each replaces the one before and
 * carries the same session on.
 */
export class AcceptedClient {
	readonly client: SessionClient;
	readonly #line: Line;
	#isReplacing = false;

	/** The handshake runs over the first connection. */
	static async open(transport: Transport, options: SessionClientOptions = {}): Promise<AcceptedClient> {
		const line = new Line();
		line.offer(transport);
		return new AcceptedClient(await SessionClient.open(signal => line.next(signal), options), line);
	}

	private constructor(client: SessionClient, line: Line) {
		this.client = client;
		this.#line = line;
	}

	/** Settles when the session goes on over this connection; rejects when it cannot be resumed there. */
	async replace(transport: Transport): Promise<void> {
		if (this.#isReplacing) {
			transport.destroy();
			throw new Error('an accepted exec-server replacement is already in progress');
		}
		this.#isReplacing = true;
		try {
			this.#line.offer(transport);
			await this.client.recovered();
		} finally {
			this.#isReplacing = false;
		}
	}
}

/** The connections that were handed over and those who wait for one. */
class Line {
	#current: RetirableTransport | undefined;
	#offered: RetirableTransport | undefined;
	#wake: (() => void) | undefined;

	offer(transport: Transport): void {
		this.#offered?.destroy();
		this.#offered = new RetirableTransport(transport);
		this.#current?.retire(new Error('exec-server connection replaced'));
		this.#wake?.();
	}

	async next(signal?: AbortSignal): Promise<Transport> {
		while (!this.#offered) {
			signal?.throwIfAborted();
			await new Promise<void>(resolve => {
				this.#wake = resolve;
				signal?.addEventListener('abort', () => resolve(), {once: true});
			});
		}
		this.#current = this.#offered;
		this.#offered = undefined;
		return this.#current;
	}
}

/** A transport that can be ended for a reason of ours. */
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
