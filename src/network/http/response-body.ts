import type {OriginConnection} from './origin-connection.js';

/** Body bytes kept for a consumer that does not take them. */
const MAX_BUFFERED_BYTES = 256 * 1024;

/** Consumer of a streamed body. */
export interface BodySink {
	/** Whether a piece may be delivered now. */
	readonly isReady: boolean;
	/** Back-pressure: resolves when the next piece may be delivered. */
	ready(): Promise<void>;
	/** The bytes are only borrowed, until this returns. */
	data(bytes: Buffer): void;
	/** Called once; with a message if the body failed. */
	end(error: string | null): void;
}

/** A body that is taken piece by piece. */
export interface BodyPieces {
	/** Resolves when bytes are there or the body ended; rejects when it failed and nothing is left. */
	waitForData(): Promise<void> | undefined;
	/** Removes and returns the bytes that are there; after `waitForData`, an empty result is the end. */
	take(): Buffer;
}

/**
 * Body of one response. Bytes arrive in memory that is used again: a sink that has room gets them at once, everything
 * else is copied, up to a bound where the origin is no longer read.
 */
export class ResponseBody implements BodyPieces {
	#chunks: Buffer[] = [];
	#bytes = 0;
	#ending: {readonly failure: Error | undefined} | undefined;
	#wake: (() => void) | undefined;
	#sink: BodySink | undefined;
	/** Undefined when the response is complete: the connection may have another by then. */
	connection: OriginConnection | undefined;

	waitForData(): Promise<void> | undefined {
		if (this.#bytes > 0) return undefined;
		if (this.#ending) return this.#ending.failure && Promise.reject(this.#ending.failure);
		return this.#whenWoken().then(() => this.waitForData());
	}

	take(): Buffer {
		const taken = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
		this.#chunks = [];
		this.#bytes = 0;
		this.connection?.resume();
		return taken;
	}

	/** Delivers all of it, except for the end. Rejects when the body fails, once all that came before is delivered. */
	async pumpTo(sink: BodySink): Promise<void> {
		for (;;) {
			if (this.#bytes > 0) {
				if (!sink.isReady) await sink.ready();
				sink.data(this.take());
			} else if (this.#ending) {
				if (this.#ending.failure) throw this.#ending.failure;
				return;
			} else if (sink.isReady) {
				this.#sink = sink;
				this.connection?.resume();
				await this.#whenWoken();
				this.#sink = undefined;
			} else {
				await sink.ready();
			}
		}
	}

	/** Returns false for back-pressure. */
	push(bytes: Buffer): boolean {
		if (this.#ending) return true;
		if (this.#sink?.isReady && this.#bytes === 0) {
			this.#sink.data(bytes);
			if (this.#sink.isReady) return true;
			this.#wakeConsumer();
			return false;
		}
		this.#chunks.push(Buffer.from(bytes));
		this.#bytes += bytes.length;
		this.#wakeConsumer();
		return this.#bytes < MAX_BUFFERED_BYTES;
	}

	/** Ends the body, with an error or without; no-op once it has ended. */
	end(failure?: Error): void {
		this.#ending ??= {failure};
		this.#wakeConsumer();
	}

	#whenWoken(): Promise<void> {
		return new Promise(resolve => {
			this.#wake = resolve;
		});
	}

	#wakeConsumer(): void {
		this.#wake?.();
		this.#wake = undefined;
	}
}
