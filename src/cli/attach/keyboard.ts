import type {Readable} from 'node:stream';
import {Escapes} from './escapes.js';

/** What may be typed ahead; beyond it the terminal waits. */
const TYPED_AHEAD_BYTES = 1024 * 1024;

/**
 * What is typed, for a process. It is looked at as it comes, even while the process or the link to it takes nothing, so
 * that there is always a way out.
 */
export class Keyboard implements AsyncIterable<Uint8Array> {
	/** Settles when `~.` was typed at the beginning of a line. */
	readonly left: Promise<void>;
	readonly #source: Readable;
	readonly #escapes = new Escapes();
	#typed: Uint8Array[] = [];
	#bytes = 0;
	#isOver = false;
	#wake = (): void => {};
	#leave!: () => void;

	constructor(source: Readable) {
		this.#source = source;
		this.left = new Promise(resolve => {
			this.#leave = resolve;
		});
		source.on('data', (chunk: Buffer) => this.#take(chunk));
		const end = (): void => {
			this.#isOver = true;
			this.#wake();
		};
		source.once('end', end).once('error', end).once('close', end);
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
		for (;;) {
			if (this.#bytes > 0) {
				const bytes = Buffer.concat(this.#typed);
				this.#typed = [];
				this.#bytes = 0;
				this.#source.resume();
				yield bytes;
			} else if (this.#isOver) {
				return;
			} else {
				await new Promise<void>(resolve => {
					this.#wake = resolve;
				});
			}
		}
	}

	#take(chunk: Uint8Array): void {
		const {bytes, leaves} = this.#escapes.scan(chunk);
		if (bytes.length > 0) this.#typed.push(bytes);
		this.#bytes += bytes.length;
		if (this.#bytes > TYPED_AHEAD_BYTES) this.#source.pause();
		if (leaves) this.#leave();
		this.#wake();
	}
}
