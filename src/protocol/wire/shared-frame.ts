/** Free bytes in front of the text, where a transport puts the header of its message. */
export const FRAME_HEADROOM_BYTES = 10;

/**
 * One message for several connections: its text is encoded once, and transports send the same bytes. A transport that
 * needs them beyond the call of `send` holds them with `retain` and `release`.
 */
export class SharedFrame {
	/** The text is behind the headroom. Its end is that of the message. */
	readonly memory: Uint8Array;
	readonly #free: () => void;
	#holderCount = 1;

	/** The maker is the first holder; `free` is called when there is none any more. */
	constructor(memory: Uint8Array, free: () => void) {
		this.memory = memory;
		this.#free = free;
	}

	/** The text in UTF-8. */
	get text(): Uint8Array {
		return this.memory.subarray(FRAME_HEADROOM_BYTES);
	}

	/** Length of the text. */
	get byteLength(): number {
		return this.memory.length - FRAME_HEADROOM_BYTES;
	}

	retain(): void {
		this.#holderCount++;
	}

	release(): void {
		if (--this.#holderCount === 0) this.#free();
	}

	toString(): string {
		return new TextDecoder().decode(this.text);
	}
}
