import type {Readable} from 'node:stream';

/**
 * What arrives from the network and has not been taken yet. It is read at most so far ahead; what arrived before a
 * failure can be taken before the failure is met.
 */
export class BoundedReader {
	readonly #source: Readable;
	readonly #aheadBytes: number;
	#chunks: Buffer[] = [];
	#bytes = 0;
	#cause: Error | undefined;
	#over: {readonly failure: Error | undefined} | undefined;
	#wake: (() => void)[] = [];

	constructor(source: Readable, aheadBytes: number) {
		this.#source = source;
		this.#aheadBytes = aheadBytes;
		source.on('data', (chunk: Buffer) => this.#arrived(chunk));
		source.on('end', () => this.#end(undefined));
		source.on('error', error => this.fail(this.#cause ?? error));
		source.on('close', () => this.fail(this.#cause ?? new Error('aborted')));
	}

	/** Bytes that can be taken now. */
	get bytes(): number {
		return this.#bytes;
	}

	/** Settles when there is something to take or nothing more will come; throws when it broke off. */
	async news(): Promise<void> {
		while (this.#bytes === 0 && !this.#over) await new Promise<void>(wake => this.#wake.push(wake));
		if (this.#bytes === 0 && this.#over?.failure) throw this.#over.failure;
	}

	/** What has arrived, at most so much of it; after `news`, nothing means the end. */
	take(maxBytes = Number.POSITIVE_INFINITY): Buffer {
		const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
		const taken = all.subarray(0, Math.min(all.length, maxBytes));
		const rest = all.subarray(taken.length);
		this.#chunks = rest.length > 0 ? [rest] : [];
		this.#bytes = rest.length;
		if (this.#bytes < this.#aheadBytes && !this.#over) this.#source.resume();
		return taken;
	}

	/** Why the source is about to break; what it has read by then still counts. */
	because(cause: Error): void {
		this.#cause ??= cause;
	}

	/** Nothing more is taken from the source; the first failure or the end counts. */
	fail(error: Error): void {
		this.#end(error);
	}

	#arrived(chunk: Buffer): void {
		if (this.#over) return;
		this.#chunks.push(chunk);
		this.#bytes += chunk.length;
		if (this.#bytes >= this.#aheadBytes) this.#source.pause();
		this.#tell();
	}

	#end(failure: Error | undefined): void {
		if (this.#over) return;
		this.#over = {failure};
		this.#tell();
	}

	#tell(): void {
		for (const wake of this.#wake.splice(0)) wake();
	}
}
