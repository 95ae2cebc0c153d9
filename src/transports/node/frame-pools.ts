import {type Frame, measureFrame} from '../../protocol/wire/encode.js';
import {FRAME_HEADROOM_BYTES, SharedFrame} from '../../protocol/wire/shared-frame.js';
import {BufferPool, payloadBuffers} from '../../shared/node/buffer-pool.js';
import {writeFrame} from './frame-bytes.js';

/** Frames from this size on are written into pooled buffers. */
const MIN_POOLED_FRAME_BYTES = 32 * 1024;
/** For the frames of output, of pipes that stay full and of all others, and for that of the largest block of a file. */
const FRAME_POOLS = [new BufferPool(96 * 1024, 32), new BufferPool(176 * 1024, 16), payloadBuffers];

/** Undefined for a size that is better left to the garbage collector. */
export function selectPool(bytes: number): BufferPool | undefined {
	return bytes < MIN_POOLED_FRAME_BYTES ? undefined : FRAME_POOLS.find(({blockBytes}) => bytes <= blockBytes);
}

/** Encodes a message that goes to several connections. */
export function encodeShared(frame: Frame): SharedFrame {
	const bytes = measureFrame(frame) + FRAME_HEADROOM_BYTES;
	const pool = selectPool(bytes);
	const memory = pool?.take() ?? Buffer.allocUnsafe(bytes);
	writeFrame(frame, memory, FRAME_HEADROOM_BYTES);
	return new SharedFrame(memory.subarray(0, bytes), () => pool?.give(memory));
}
