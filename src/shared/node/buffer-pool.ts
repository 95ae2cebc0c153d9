/**
 * Pool of large buffers. Left to the garbage collector, the blocks of a stream pile up for tens of MiB, because it
 * counts objects and not the memory outside the heap.
 */
export class BufferPool {
	readonly blockBytes: number;
	readonly #maxFree: number;
	readonly #free: Buffer[] = [];

	/** Keeps at most `maxFree` unused blocks. */
	constructor(blockBytes: number, maxFree: number) {
		this.blockBytes = blockBytes;
		this.#maxFree = maxFree;
	}

	take(): Buffer {
		return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes);
	}

	/** Returns a block to the pool; the caller must not use it afterwards. */
	give(block: Buffer): void {
		if (this.#free.length < this.#maxFree) this.#free.push(block);
	}
}

/**
 * Buffers for blocks of files, read or to be written, and for the frames that carry them, which are the largest. One
 * pool for all, so that a block one of them returns can be used by another.
 */
export const payloadBuffers = new BufferPool(1408 * 1024, 8);
