import {writeSync} from 'node:fs';
import {BufferPool} from '../../shared/node/buffer-pool.js';

/** Bytes that are gathered before they should be written. */
export const MAX_GATHERED_BYTES = 64 * 1024;
/** Pieces from this size on are written at once: a system call costs less than to copy them. */
const MIN_DIRECT_BYTES = 16 * 1024;
const MAX_FREE_BLOCKS = 32;

/** Shared by all files, so that an idle process holds none. */
const blocks = new BufferPool(MAX_GATHERED_BYTES, MAX_FREE_BLOCKS);

/** `writeSync` of Node, at a position. */
export type WriteBytes = (fd: number, bytes: Uint8Array, offset: number, length: number, position: number) => number;

/**
 * End of one file. Small pieces are gathered and written together; pieces that the disk does not take are kept, in
 * order, until a later `flush` succeeds. Bytes are copied unless they are written within the call.
 */
export class AppendQueue {
	readonly #fd: number;
	readonly #write: WriteBytes;
	#size: number;
	#queuedBytes = 0;
	#waiting: Buffer[] = [];
	/** Behind all that waits. */
	#block: Buffer | undefined;
	#filled = 0;
	#failure: NodeJS.ErrnoException | undefined;

	constructor(fd: number, size: number, write: WriteBytes = writeSync) {
		this.#fd = fd;
		this.#size = size;
		this.#write = write;
	}

	/** Bytes that the kernel has taken. */
	get size(): number {
		return this.#size;
	}

	get queuedBytes(): number {
		return this.#queuedBytes;
	}

	/** Position of the next piece. */
	get end(): number {
		return this.#size + this.#queuedBytes;
	}

	/** Error of the last write; undefined after one that succeeded. */
	get failure(): NodeJS.ErrnoException | undefined {
		return this.#failure;
	}

	/** After a failure nothing is written before the next `flush`. */
	append(bytes: Uint8Array): void {
		if (bytes.length < MIN_DIRECT_BYTES) {
			this.#gather(bytes);
			return;
		}
		const done = this.#failure === undefined && this.flush() ? this.#writeAll(bytes) : 0;
		if (done < bytes.length) this.#keep(bytes.subarray(done));
	}

	/** Writes all that is queued; false after a failure. */
	flush(): boolean {
		if (this.#queuedBytes === 0) return true;
		this.#sealBlock();
		let count = 0;
		for (const bytes of this.#waiting) {
			const done = this.#writeAll(bytes);
			this.#queuedBytes -= done;
			if (done < bytes.length) {
				this.#waiting = [bytes.subarray(done), ...this.#waiting.slice(count + 1)];
				return false;
			}
			recycle(bytes);
			count++;
		}
		this.#waiting = [];
		return true;
	}

	#gather(bytes: Uint8Array): void {
		if (this.#filled + bytes.length > MAX_GATHERED_BYTES) this.#sealBlock();
		this.#block ??= blocks.take();
		this.#block.set(bytes, this.#filled);
		this.#filled += bytes.length;
		this.#queuedBytes += bytes.length;
	}

	#keep(bytes: Uint8Array): void {
		this.#sealBlock();
		this.#waiting.push(Buffer.from(bytes));
		this.#queuedBytes += bytes.length;
	}

	#sealBlock(): void {
		if (!this.#block) return;
		this.#waiting.push(this.#block.subarray(0, this.#filled));
		this.#block = undefined;
		this.#filled = 0;
	}

	/** Bytes that were written; fewer than all after a failure. */
	#writeAll(bytes: Uint8Array): number {
		let done = 0;
		try {
			while (done < bytes.length) done += this.#write(this.#fd, bytes, done, bytes.length - done, this.#size + done);
			this.#failure = undefined;
		} catch (error) {
			this.#failure = error as NodeJS.ErrnoException;
		}
		this.#size += done;
		return done;
	}
}

function recycle(bytes: Buffer): void {
	if (bytes.buffer.byteLength === MAX_GATHERED_BYTES) blocks.give(Buffer.from(bytes.buffer));
}
