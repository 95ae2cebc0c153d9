import type {Readable} from 'node:stream';

/**
 * Bounded read-ahead buffer of a stream, with back-pressure: the source is paused at `maxBufferedBytes`. Bytes that
 * arrived before a failure can be taken before the failure is thrown.
 */
export class BoundedReader {
	readonly #source: Readable;
	readonly #maxBufferedBytes: number;
	#chunks: Buffer[] = [];
	#bytes = 0;
	#failureCause: Error | undefined;
	#ending: {readonly failure: Error | undefined} | undefined;
	#waiters: (() => void)[] = [];

	constructor(source: Readable, maxBufferedBytes: number) {
		this.#source = source;
		this.#maxBufferedBytes = maxBufferedBytes;
		source.on('data', (chunk: Buffer) => this.#append(chunk));
		source.on('end', () => this.#end(undefined));
		source.on('error', error => this.fail(this.#failureCause ?? error));
		source.on('close', () => this.fail(this.#failureCause ?? new Error('aborted')));
	}

	/** Number of buffered bytes. */
	get bytes(): number {
		return this.#bytes;
	}

	/** Resolves when bytes are buffered or the source ended; rejects when it failed and the buffer is empty. */
	async waitForData(): Promise<void> {
		while (this.#bytes === 0 && !this.#ending) await new Promise<void>(wake => this.#waiters.push(wake));
		if (this.#bytes === 0 && this.#ending?.failure) throw this.#ending.failure;
	}

	/** Removes and returns up to `maxBytes` buffered bytes; after `waitForData`, an empty result is the end. */
	take(maxBytes = Number.POSITIVE_INFINITY): Buffer {
		const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
		const taken = all.subarray(0, Math.min(all.length, maxBytes));
		const rest = all.subarray(taken.length);
		this.#chunks = rest.length > 0 ? [rest] : [];
		this.#bytes = rest.length;
		if (this.#bytes < this.#maxBufferedBytes && !this.#ending) this.#source.resume();
		return taken;
	}

	/** Sets the error to report when the source closes; bytes read until then are still delivered. */
	setFailureCause(cause: Error): void {
		this.#failureCause ??= cause;
	}

	/** Ends the reader with an error; no-op once it has ended. */
	fail(error: Error): void {
		this.#end(error);
	}

	#append(chunk: Buffer): void {
		if (this.#ending) return;
		this.#chunks.push(chunk);
		this.#bytes += chunk.length;
		if (this.#bytes >= this.#maxBufferedBytes) this.#source.pause();
		this.#wakeWaiters();
	}

	#end(failure: Error | undefined): void {
		if (this.#ending) return;
		this.#ending = {failure};
		this.#wakeWaiters();
	}

	#wakeWaiters(): void {
		for (const wake of this.#waiters.splice(0)) wake();
	}
}
