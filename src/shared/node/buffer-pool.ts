/** Time after which a pool gives up the blocks it should not keep for long. */
const TRIM_AFTER_MS = 5000;

/**
 * Pool of large buffers. Left to the garbage collector, the blocks of a stream pile up for tens of MiB, because it
 * counts objects and not the memory outside the heap.
 */
export class BufferPool {
	readonly blockBytes: number;
	readonly #maxFree: number;
	readonly #maxIdle: number;
	readonly #free: Buffer[] = [];
	#isTrimming = false;

	/** Keeps at most `maxFree` unused blocks, and for longer than a few seconds at most `maxIdle` of them. */
	constructor(blockBytes: number, maxFree: number, maxIdle = maxFree) {
		this.blockBytes = blockBytes;
		this.#maxFree = maxFree;
		this.#maxIdle = maxIdle;
	}

	take(): Buffer {
		return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes);
	}

	/** Returns a block to the pool; the caller must not use it afterwards. */
	give(block: Buffer): void {
		if (this.#free.length >= this.#maxFree) return;
		this.#free.push(block);
		if (this.#free.length <= this.#maxIdle || this.#isTrimming) return;
		this.#isTrimming = true;
		setTimeout(() => this.#trim(), TRIM_AFTER_MS).unref();
	}

	#trim(): void {
		this.#isTrimming = false;
		if (this.#free.length > this.#maxIdle) this.#free.length = this.#maxIdle;
	}
}

/**
 * Buffers for blocks of files, read or to be written, and for the frames that carry them, which are the largest. One
 * pool for all, so that a block one of them returns can be used by another. Enough for a written file of 16 MiB.
 */
export const payloadBuffers = new BufferPool(1408 * 1024, 16, 8);
