import {BufferPool} from '../../shared/node/buffer-pool.js';

/** One read takes at most this much, and so one chunk holds at most this much. */
export const READ_BYTES = 64 * 1024;
/** Chunks from this size on get a whole block; smaller ones share memory the ordinary way. */
const BLOCK_FROM_BYTES = 32 * 1024;
const MAX_FREE_BLOCKS = 64;

const pool = new BufferPool(READ_BYTES, MAX_FREE_BLOCKS);

/** A copy of the bytes that stays valid until it is released. */
export function keepChunk(source: Buffer, length: number): Uint8Array {
	const copy = length < BLOCK_FROM_BYTES ? Buffer.allocUnsafe(length) : pool.take().subarray(0, length);
	source.copy(copy, 0, 0, length);
	return copy;
}

/** The chunk is out of every log and nobody looks at it any more. To be called at most once. */
export function releaseChunk(chunk: Uint8Array): void {
	if (chunk.length >= BLOCK_FROM_BYTES && chunk.buffer.byteLength === READ_BYTES && chunk.byteOffset === 0) {
		pool.give(Buffer.from(chunk.buffer));
	}
}
