/** Limit for the bytes buffered on behalf of one client. */
export class ByteBudget {
	readonly #maxBytes: number;
	#reservedBytes = 0;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	/** False if the limit would be exceeded. A reservation of an empty budget always succeeds, and so does one of 0 bytes. */
	tryReserve(bytes: number): boolean {
		if (bytes > 0 && this.#reservedBytes > 0 && this.#reservedBytes + bytes > this.#maxBytes) return false;
		this.#reservedBytes += bytes;
		return true;
	}

	release(bytes: number): void {
		this.#reservedBytes -= bytes;
	}
}
