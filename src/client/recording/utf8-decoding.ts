const REPLACEMENT = '\uFFFD';
/** The replacement character itself, as it may be in a text. */
const ENCODED_REPLACEMENT = [0xef, 0xbf, 0xbd];

/** Decodes a stream of UTF-8, whatever its chunks, and counts the places that are no UTF-8. */
export class CountingDecoder {
	readonly #decoder = new TextDecoder('utf-8', {ignoreBOM: true});
	/** Bytes of an encoded replacement character at the end of the chunk before. */
	#matched = 0;
	#replacements = 0;

	/** Replacement characters that stand for bytes which are no UTF-8. */
	get replacements(): number {
		return this.#replacements;
	}

	/** A character whose last bytes are missing comes with the chunk that has them. */
	decode(bytes: Uint8Array): string {
		const text = this.#decoder.decode(bytes, {stream: true});
		this.#count(text, this.#countEncoded(bytes));
		return text;
	}

	/** The rest, when no more bytes come. */
	end(): string {
		const text = this.#decoder.decode();
		this.#count(text, 0);
		this.#matched = 0;
		return text;
	}

	#count(text: string, encoded: number): void {
		for (let at = text.indexOf(REPLACEMENT); at !== -1; at = text.indexOf(REPLACEMENT, at + 1)) this.#replacements++;
		this.#replacements -= encoded;
	}

	/** Replacement characters that end in these bytes. */
	#countEncoded(bytes: Uint8Array): number {
		let count = 0;
		// Most text has none: the search for the first byte is fast.
		let at = this.#matched > 0 ? 0 : bytes.indexOf(ENCODED_REPLACEMENT[0]!);
		while (at !== -1 && at < bytes.length) {
			const isNext = bytes[at] === ENCODED_REPLACEMENT[this.#matched];
			if (isNext) this.#matched++;
			else this.#matched = bytes[at] === ENCODED_REPLACEMENT[0] ? 1 : 0;
			if (this.#matched === ENCODED_REPLACEMENT.length) {
				this.#matched = 0;
				count++;
			}
			at = this.#matched > 0 ? at + 1 : bytes.indexOf(ENCODED_REPLACEMENT[0]!, at + 1);
		}
		return count;
	}
}
