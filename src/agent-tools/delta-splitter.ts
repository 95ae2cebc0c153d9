import {MAX_DELTA_BYTES} from './exec-limits.js';

const MAX_CHARACTER_BYTES = 4;

/**
 * Cuts output into pieces of a bounded size without cutting a character. An unfinished character at the end waits for
 * the next chunk; bytes that are no UTF-8 pass as they are.
 */
export class DeltaSplitter {
	readonly #largest: number;
	#held: Uint8Array = new Uint8Array(0);

	constructor(largest: number = MAX_DELTA_BYTES) {
		this.#largest = largest;
	}

	split(chunk: Uint8Array): Uint8Array[] {
		const bytes = new Uint8Array(this.#held.length + chunk.length);
		bytes.set(this.#held);
		bytes.set(chunk, this.#held.length);
		const end = bytes.length - unfinishedAtEnd(bytes);
		const pieces: Uint8Array[] = [];
		let at = 0;
		while (at < end) {
			const whole = Math.min(end, at + this.#largest);
			const cut = whole - (whole < end ? unfinishedAtEnd(bytes.subarray(at, whole)) : 0);
			pieces.push(bytes.subarray(at, cut));
			at = cut;
		}
		this.#held = bytes.slice(end);
		return pieces;
	}

	/** What is still held back, when nothing more comes. */
	flush(): Uint8Array[] {
		const rest = this.#held;
		this.#held = new Uint8Array(0);
		return rest.length > 0 ? [rest] : [];
	}
}

/** How many bytes at the end belong to a character that may still be finished: up to three. */
function unfinishedAtEnd(bytes: Uint8Array): number {
	for (let count = 1; count < MAX_CHARACTER_BYTES && count <= bytes.length; count++) {
		const byte = bytes.at(-count)!;
		const isContinuation = (byte & 0xc0) === 0x80;
		if (!isContinuation) return characterLength(byte) > count ? count : 0;
	}
	return 0;
}

/** From its first byte; one for those that begin none. */
function characterLength(first: number): number {
	if (first >= 0xc2 && first <= 0xdf) return 2;
	if (first >= 0xe0 && first <= 0xef) return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 1;
}
