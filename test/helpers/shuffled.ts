import type {Transport, TransportEvents} from '../../src/transports/transport.js';
import {WrappedTransport} from '../../src/transports/wrapped-transport.js';

/** Swaps pairs of process notifications: each is delivered after the message that follows it. */
export function shuffleNotifications(transport: Transport): Transport {
	return new ShuffledTransport(transport);
}

class ShuffledTransport extends WrappedTransport {
	#held: (() => void) | undefined;
	#timer: NodeJS.Timeout | undefined;

	override open(events: TransportEvents): void {
		super.open({
			...events,
			message: (text, bulk) => {
				const tell = (): void => events.message(text, bulk);
				if (text.includes('"method":"process/') && !this.#held) {
					this.#held = tell;
					// The last notification has no successor to wait for.
					this.#timer = setTimeout(() => this.#release(), 20);
					return;
				}
				tell();
				this.#release();
			},
			closed: error => {
				this.#release();
				events.closed(error);
			},
		});
	}

	#release(): void {
		clearTimeout(this.#timer);
		const held = this.#held;
		this.#held = undefined;
		held?.();
	}
}
