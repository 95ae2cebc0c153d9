import {BufferPool} from '../../shared/node/buffer-pool.js';

/** Bytes per read, and so per chunk, of all streams but a pipe that stays full. */
export const MAX_READ_BYTES = 64 * 1024;
/** Bytes of the largest chunk. A full log holds less than its bound by at most one chunk. */
export const MAX_CHUNK_BYTES = 128 * 1024;
/** Chunks from this size on get a block of the pool; smaller ones come from Node's shared slab. */
export const MIN_BLOCK_BYTES = 32 * 1024;

/** Smaller blocks first. A chunk fills at least half of its block, so that a log takes at most twice the memory it counts. */
const POOLS = [new BufferPool(MAX_READ_BYTES, 64), new BufferPool(MAX_CHUNK_BYTES, 16)];

/** A copy of the bytes that stays valid until it is released. */
export function copyChunk(source: Buffer, length: number): Uint8Array {
	const copy = length < MIN_BLOCK_BYTES ? Buffer.allocUnsafe(length) : takeBlock(length).subarray(0, length);
	source.copy(copy, 0, 0, length);
	return copy;
}

/** A block to read at most so many bytes into; pass it to `keepBlock` afterwards. */
export function takeBlock(maxBytes = MAX_READ_BYTES): Buffer {
	const pool = POOLS.find(({blockBytes}) => maxBytes <= blockBytes);
	return pool?.take() ?? Buffer.allocUnsafeSlow(maxBytes);
}

/** The first bytes of a block that was read into, without a copy if they fill most of it. */
export function keepBlock(block: Buffer, length: number): Uint8Array {
	if (length * 2 >= block.length) return block.subarray(0, length);
	const copy = copyChunk(block, length);
	poolOf(block)?.give(block);
	return copy;
}

/** Returns the memory of a chunk to the pool. Call at most once, when the chunk is in no log and in no reader's hands. */
export function releaseChunk(chunk: Uint8Array): void {
	if (chunk.byteOffset !== 0 || chunk.length * 2 < chunk.buffer.byteLength) return;
	poolOf(chunk)?.give(Buffer.from(chunk.buffer));
}

function poolOf({buffer}: Uint8Array): BufferPool | undefined {
	return POOLS.find(({blockBytes}) => buffer.byteLength === blockBytes);
}
