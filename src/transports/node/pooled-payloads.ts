import type {WebSocket} from 'ws';
import {payloadBuffers} from '../../shared/node/buffer-pool.js';

/** Messages from this size on are assembled in pooled buffers. */
const MIN_POOLED_MESSAGE_BYTES = 64 * 1024;

interface Receiver {
	readonly _buffers?: readonly Buffer[];
	consume?: (length: number) => Buffer;
}

/**
 * Makes `ws` assemble large messages in pooled buffers: a message is short-lived, but the garbage collector frees
 * external memory late. `ws` takes pieces with `consume`, which copies only when a piece spans several reads. A test
 * fails should the library change.
 */
export class PooledPayloads {
	readonly #taken: Buffer[] = [];

	constructor(webSocket: WebSocket) {
		const receiver = (webSocket as unknown as {_receiver?: Receiver})._receiver;
		const consume = receiver?.consume?.bind(receiver);
		if (!receiver || !consume) return;
		receiver.consume = length => {
			const isPooled = length >= MIN_POOLED_MESSAGE_BYTES && length <= payloadBuffers.blockBytes;
			return isPooled && length > nextLength(receiver) ? this.#collect(receiver, consume, length) : consume(length);
		};
	}

	/** Returns the buffers of the last message to the pool. Call once it is parsed. */
	release(): void {
		if (this.#taken.length === 0) return;
		for (const block of this.#taken) payloadBuffers.give(block);
		this.#taken.length = 0;
	}

	#collect(receiver: Receiver, consume: (length: number) => Buffer, length: number): Buffer {
		const block = payloadBuffers.take();
		this.#taken.push(block);
		for (let filled = 0; filled < length; ) {
			filled += consume(Math.min(nextLength(receiver), length - filled)).copy(block, filled);
		}
		return block.subarray(0, length);
	}
}

function nextLength({_buffers}: Receiver): number {
	return _buffers?.[0]?.length ?? Number.POSITIVE_INFINITY;
}
