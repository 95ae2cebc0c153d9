import {PeerSilentError} from '../../transports/peer-silent-error.js';
import type {Transport, TransportEvents} from '../../transports/transport.js';
import {WrappedTransport} from '../../transports/wrapped-transport.js';

/** Looks per interval. */
const LOOKS_PER_INTERVAL = 5;
/** A look that comes after more intervals than this was late: the page was suspended, or busy. */
const MAX_INTERVALS_BETWEEN_LOOKS = 2;

/**
 * A transport that cannot ping, such as the WebSocket of a browser. A peer that has sent no message for a while is asked
 * something it has to answer, and given up when it does not. Time in which we did not run, or did not read, does not count.
 */
export class AskingTransport extends WrappedTransport {
	readonly #ask: () => boolean;
	#isPaused = false;
	#clockMs = 0;
	#heardMs = 0;
	#askedMs = 0;

	/** `ask` returns false while nothing can be asked, during the handshake. */
	constructor(inner: Transport, ask: () => boolean) {
		super(inner);
		this.#ask = ask;
	}

	override open(events: TransportEvents): void {
		const {intervalMs, timeoutMs} = this.inner.asking!;
		const lookMs = intervalMs / LOOKS_PER_INTERVAL;
		let failure: Error | undefined;
		let lookedAt = performance.now();
		const timer = setInterval(() => {
			const elapsedMs = performance.now() - lookedAt;
			lookedAt += elapsedMs;
			const isLate = elapsedMs > lookMs * MAX_INTERVALS_BETWEEN_LOOKS;
			this.#clockMs += isLate ? lookMs : elapsedMs;
			if (this.#isPaused) this.#heardMs = this.#clockMs;
			else if (isLate) this.#heardMs = Math.max(this.#heardMs, this.#clockMs - timeoutMs / 2);
			const silentMs = this.#clockMs - this.#heardMs;
			if (timeoutMs > 0 && silentMs >= timeoutMs) {
				failure = new PeerSilentError(`nothing was heard from the other end for ${Math.round(silentMs / 1000)} s`);
				this.inner.destroy();
			} else if (this.#clockMs - Math.max(this.#heardMs, this.#askedMs) >= intervalMs) {
				this.#askedMs = this.#clockMs;
				if (!this.#ask()) this.#heardMs = this.#clockMs;
			}
		}, lookMs);
		// Only Node has timers that keep a program alive.
		(timer as {unref?: () => void}).unref?.();
		super.open({
			...events,
			message: (text, payload) => {
				this.#heardMs = this.#clockMs;
				events.message(text, payload);
			},
			closed: error => {
				clearInterval(timer);
				events.closed(error ?? failure);
			},
		});
	}

	override pause(): void {
		this.#isPaused = true;
		super.pause();
	}

	override resume(): void {
		this.#isPaused = false;
		super.resume();
	}
}
