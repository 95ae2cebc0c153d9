import {BlockPool} from './block-pool.js';

/**
 * Memory for whatever carries a block of a file: the block itself, on its way in or out, or the frame it is sent in,
 * which is the largest of them. One pool for all, so that what one gives up another can use.
 */
export const bulkBlocks = new BlockPool(1408 * 1024, 8);
