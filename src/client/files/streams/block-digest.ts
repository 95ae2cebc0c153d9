import {BLOCK_BYTES} from './block-reader.js';

/**
 * Checksum of a stream, independent of its chunks: the digests of its blocks, digested again. It is not the SHA-256 of
 * the whole, which browsers cannot compute incrementally.
 */
export class BlockDigest {
	readonly #block = new Uint8Array(BLOCK_BYTES);
	#length = 0;
	#sum = new Uint8Array();

	async add(chunk: Uint8Array): Promise<void> {
		for (let from = 0; from < chunk.length; ) {
			const piece = chunk.subarray(from, from + BLOCK_BYTES - this.#length);
			this.#block.set(piece, this.#length);
			this.#length += piece.length;
			from += piece.length;
			if (this.#length === BLOCK_BYTES) await this.#digest();
		}
	}

	/** Returns the checksum in hexadecimal; may be called once. */
	async finish(): Promise<string> {
		await this.#digest();
		return Array.from(this.#sum, byte => byte.toString(16).padStart(2, '0')).join('');
	}

	async #digest(): Promise<void> {
		const input = new Uint8Array(this.#sum.length + this.#length);
		input.set(this.#sum);
		input.set(this.#block.subarray(0, this.#length), this.#sum.length);
		this.#sum = new Uint8Array(await crypto.subtle.digest('SHA-256', input));
		this.#length = 0;
	}
}
