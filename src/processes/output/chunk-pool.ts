import {BufferPool} from '../../shared/node/buffer-pool.js';

/** Bytes per read, and so per chunk. */
export const MAX_READ_BYTES = 64 * 1024;
/** Chunks from this size on get a block of the pool; smaller ones come from Node's shared slab. */
export const MIN_BLOCK_BYTES = 32 * 1024;
const MAX_FREE_BLOCKS = 64;

const pool = new BufferPool(MAX_READ_BYTES, MAX_FREE_BLOCKS);

/** A copy of the bytes that stays valid until it is released. */
export function copyChunk(source: Buffer, length: number): Uint8Array {
	const copy = length < MIN_BLOCK_BYTES ? Buffer.allocUnsafe(length) : pool.take().subarray(0, length);
	source.copy(copy, 0, 0, length);
	return copy;
}

/** A block to read into; pass it to `keepBlock` afterwards. */
export function takeBlock(): Buffer {
	return pool.take();
}

/** The first bytes of a block that was read into, without a copy if they fill most of it. */
export function keepBlock(block: Buffer, length: number): Uint8Array {
	if (length >= MIN_BLOCK_BYTES) return block.subarray(0, length);
	const copy = Buffer.from(block.subarray(0, length));
	pool.give(block);
	return copy;
}

/** Returns the memory of a chunk to the pool. Call at most once, when the chunk is in no log and in no reader's hands. */
export function releaseChunk(chunk: Uint8Array): void {
	if (chunk.length >= MIN_BLOCK_BYTES && chunk.buffer.byteLength === MAX_READ_BYTES && chunk.byteOffset === 0) {
		pool.give(Buffer.from(chunk.buffer));
	}
}
