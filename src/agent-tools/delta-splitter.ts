import {MAX_DELTA_BYTES} from './exec-limits.js';

const MAX_CHARACTER_BYTES = 4;

/**
 * Splits output into pieces of a bounded size without splitting a character. The bytes of an incomplete character at
 * the end are buffered until the next chunk; bytes that are no UTF-8 pass as they are.
 */
export class DeltaSplitter {
	readonly #maxBytes: number;
	#incomplete: Uint8Array = new Uint8Array(0);

	constructor(maxBytes: number = MAX_DELTA_BYTES) {
		this.#maxBytes = maxBytes;
	}

	split(chunk: Uint8Array): Uint8Array[] {
		const bytes = new Uint8Array(this.#incomplete.length + chunk.length);
		bytes.set(this.#incomplete);
		bytes.set(chunk, this.#incomplete.length);
		const end = bytes.length - countIncompleteBytes(bytes);
		const pieces: Uint8Array[] = [];
		let at = 0;
		while (at < end) {
			const whole = Math.min(end, at + this.#maxBytes);
			const cut = whole - (whole < end ? countIncompleteBytes(bytes.subarray(at, whole)) : 0);
			pieces.push(bytes.subarray(at, cut));
			at = cut;
		}
		this.#incomplete = bytes.slice(end);
		return pieces;
	}

	/** Returns the buffered bytes, at the end of the output. */
	flush(): Uint8Array[] {
		const rest = this.#incomplete;
		this.#incomplete = new Uint8Array(0);
		return rest.length > 0 ? [rest] : [];
	}
}

/** Number of bytes at the end that begin a character and do not complete it: up to three. */
function countIncompleteBytes(bytes: Uint8Array): number {
	for (let count = 1; count < MAX_CHARACTER_BYTES && count <= bytes.length; count++) {
		const byte = bytes.at(-count)!;
		const isContinuation = (byte & 0xc0) === 0x80;
		if (!isContinuation) return characterLength(byte) > count ? count : 0;
	}
	return 0;
}

/** Length of a UTF-8 sequence by its first byte; 1 for bytes that begin none. */
function characterLength(first: number): number {
	if (first >= 0xc2 && first <= 0xdf) return 2;
	if (first >= 0xe0 && first <= 0xef) return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 1;
}
