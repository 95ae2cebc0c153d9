import type {Readable} from 'node:stream';

/**
 * What a stream gives, in pieces as large as there was time to gather: what comes while nobody takes anything goes out
 * together. Rejects when the stream fails, behind what it gave before.
 */
export class CoalescingReader implements AsyncIterable<Uint8Array> {
	readonly #source: Readable;
	readonly #mostBytes: number;
	readonly #filter: (chunk: Uint8Array) => Uint8Array;
	#chunks: Uint8Array[] = [];
	#bytes = 0;
	#end: {readonly error?: Error} | undefined;
	#wake = (): void => {};

	/** Above `mostBytes` the source is paused. The filter sees everything at once, whatever nobody takes. */
	constructor(source: Readable, mostBytes: number, filter: (chunk: Uint8Array) => Uint8Array = chunk => chunk) {
		this.#source = source;
		this.#mostBytes = mostBytes;
		this.#filter = filter;
		source.on('data', (chunk: Buffer) => this.#add(chunk));
		source.once('error', error => this.#over({error}));
		source.once('end', () => this.#over({})).once('close', () => this.#over({}));
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
		for (;;) {
			if (this.#bytes > 0) yield this.#take();
			else if (this.#end?.error) throw this.#end.error;
			else if (this.#end) return;
			else await this.#news();
		}
	}

	#add(chunk: Uint8Array): void {
		const bytes = this.#filter(chunk);
		if (bytes.length > 0) this.#chunks.push(bytes);
		this.#bytes += bytes.length;
		if (this.#bytes >= this.#mostBytes) this.#source.pause();
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

	#over(end: {readonly error?: Error}): void {
		this.#end ??= end;
		this.#wake();
	}

	#news(): Promise<void> {
		return new Promise(resolve => {
			this.#wake = resolve;
		});
	}
}
