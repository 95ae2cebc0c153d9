import type {Frame} from '../../src/protocol/encode.js';
import type {Transport, TransportEvents} from '../../src/transports/transport.js';

/** Tells of processes in pairs turned round: each notification waits for the next one, or for anything else. */
export function shuffled(transport: Transport): Transport {
	return new ShuffledTransport(transport);
}

class ShuffledTransport implements Transport {
	readonly kind;
	readonly peer;
	readonly #transport: Transport;
	#held: (() => void) | undefined;
	#timer: NodeJS.Timeout | undefined;

	constructor(transport: Transport) {
		this.#transport = transport;
		this.kind = transport.kind;
		this.peer = transport.peer;
	}

	get backlog(): number {
		return this.#transport.backlog;
	}

	open(events: TransportEvents): void {
		this.#transport.open({
			...events,
			message: (text, bulk) => {
				const tell = (): void => events.message(text, bulk);
				if (text.includes('"method":"process/') && !this.#held) {
					this.#held = tell;
					// The last one of all has nobody to wait for.
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

	send(frame: Frame): void {
		this.#transport.send(frame);
	}

	pause(): void {
		this.#transport.pause();
	}

	resume(): void {
		this.#transport.resume();
	}

	close(): void {
		this.#transport.close();
	}

	destroy(): void {
		this.#transport.destroy();
	}

	#release(): void {
		clearTimeout(this.#timer);
		const held = this.#held;
		this.#held = undefined;
		held?.();
	}
}
