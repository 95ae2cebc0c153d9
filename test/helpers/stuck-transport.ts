import {type Frame, measureFrame} from '../../src/protocol/wire/encode.js';
import type {Transport, TransportEvents} from '../../src/transports/transport.js';

/** A transport whose peer takes nothing: everything that is sent stays in its backlog. */
export class StuckTransport implements Transport {
	readonly kind = 'memory';
	readonly peer = 'stuck';
	backlog = 0;
	frames = 0;
	isPaused = false;
	#events: TransportEvents | undefined;

	open(events: TransportEvents): void {
		this.#events = events;
	}

	send(frame: Frame): void {
		this.frames++;
		this.backlog += measureFrame(frame);
	}

	/** Messages of the peer that came in one read: they are delivered although a message among them pauses reading. */
	receive(...messages: readonly object[]): void {
		for (const message of messages) this.#events?.message(JSON.stringify(message));
	}

	pause(): void {
		this.isPaused = true;
	}

	resume(): void {
		this.isPaused = false;
	}

	close(): void {
		this.destroy();
	}

	destroy(): void {
		const events = this.#events;
		this.#events = undefined;
		events?.closed();
	}
}
