/** Members whose values are base64 of any length, right below `params` or `result`. */
export const PAYLOAD_MEMBERS = ['chunk', 'dataBase64', 'bodyBase64', 'deltaBase64'] as const;

/** Bytes in several pieces of memory. All but the last are a multiple of three long, so that each can be encoded by itself. */
export class ByteBlocks {
	readonly blocks: readonly Uint8Array[];
	readonly length: number;

	constructor(blocks: readonly Uint8Array[]) {
		this.blocks = blocks;
		this.length = blocks.reduce((sum, {length}) => sum + length, 0);
	}

	/** The bytes in one piece of memory. */
	join(): Uint8Array {
		const joined = new Uint8Array(this.length);
		let offset = 0;
		for (const block of this.blocks) {
			joined.set(block, offset);
			offset += block.length;
		}
		return joined;
	}
}

/**
 * A long base64 value that a transport has extracted from a message and decoded, so that it never becomes a string: a
 * string of that size costs more than the rest of the message, and its memory is collected late.
 */
export interface BinaryPayload<Bytes extends Uint8Array | ByteBlocks = Uint8Array | ByteBlocks> {
	readonly member: (typeof PAYLOAD_MEMBERS)[number];
	/** Text that replaces the value in the message. */
	readonly placeholder: string;
	readonly bytes: Bytes;
	/** Returns the memory of the bytes to its pool. Optional; the bytes must not be used afterwards. */
	readonly release: () => void;
	/** The message as received. */
	original(): string;
}
