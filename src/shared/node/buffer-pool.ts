/**
 * Large blocks of memory that are used again. Left to the garbage collector, the blocks of a stream pile up for
 * tens of MiB before it looks, because it counts objects and not what they hold.
 */
export class BufferPool {
	readonly blockBytes: number;
	readonly #most: number;
	readonly #free: Buffer[] = [];

	/** At most `most` unused blocks are kept. */
	constructor(blockBytes: number, most: number) {
		this.blockBytes = blockBytes;
		this.#most = most;
	}

	take(): Buffer {
		return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.blockBytes);
	}

	/** Nobody may look at the block any more. */
	give(block: Buffer): void {
		if (this.#free.length < this.#most) this.#free.push(block);
	}
}

/**
 * Memory for whatever carries a block of a file: the block itself, on its way in or out, or the frame it is sent in,
 * which is the largest of them. One pool for all, so that what one gives up another can use.
 */
export const payloadBuffers = new BufferPool(1408 * 1024, 8);
