import type {Readable} from 'node:stream';

/**
 * Reads a stream in chunks as large as possible: everything that arrives between two reads is one chunk. Rejects when
 * the stream fails, after the data that came before.
 */
export class CoalescingReader implements AsyncIterable<Uint8Array> {
	readonly #source: Readable;
	readonly #maxBytes: number;
	readonly #filter: (chunk: Uint8Array) => Uint8Array;
	#chunks: Uint8Array[] = [];
	#bytes = 0;
	#end: {readonly error?: Error} | undefined;
	#wake = (): void => {};

	/** Above `maxBytes` the source is paused. The filter sees data as it arrives, not as it is read. */
	constructor(source: Readable, maxBytes: number, filter: (chunk: Uint8Array) => Uint8Array = chunk => chunk) {
		this.#source = source;
		this.#maxBytes = maxBytes;
		this.#filter = filter;
		source.on('data', (chunk: Buffer) => this.#add(chunk));
		source.once('error', error => this.#finish({error}));
		source.once('end', () => this.#finish({})).once('close', () => this.#finish({}));
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
		for (;;) {
			if (this.#bytes > 0) yield this.#take();
			else if (this.#end?.error) throw this.#end.error;
			else if (this.#end) return;
			else await this.#waitForData();
		}
	}

	#add(chunk: Uint8Array): void {
		const bytes = this.#filter(chunk);
		if (bytes.length > 0) this.#chunks.push(bytes);
		this.#bytes += bytes.length;
		if (this.#bytes >= this.#maxBytes) this.#source.pause();
		this.#wake();
	}

	#take(): Uint8Array {
		const [first, second] = this.#chunks;
		const bytes = second ? Buffer.concat(this.#chunks) : first!;
		this.#chunks = [];
		this.#bytes = 0;
		this.#source.resume();
		return bytes;
	}

	#finish(end: {readonly error?: Error}): void {
		this.#end ??= end;
		this.#wake();
	}

	#waitForData(): Promise<void> {
		return new Promise(resolve => {
			this.#wake = resolve;
		});
	}
}
