/** A beginning, then the same block of bytes over and over: what a stream has at any offset is known. */
export class RepeatedContent {
	#block;
	#beginning;

	constructor(block, beginning = Buffer.alloc(0)) {
		this.#block = block;
		this.#beginning = beginning;
	}

	/** Not a copy unless it crosses the end of a block. */
	slice(offset, length) {
		const parts = [];
		for (let at = offset; at < offset + length; at += parts.at(-1).length) {
			const left = offset + length - at;
			const inBody = at - this.#beginning.length;
			const [source, start] = inBody < 0 ? [this.#beginning, at] : [this.#block, inBody % this.#block.length];
			parts.push(source.subarray(start, start + left));
		}
		return parts.length === 1 ? parts[0] : Buffer.concat(parts);
	}

	/** Whether the chunk is what belongs at the offset. */
	matches(chunk, offset) {
		return this.slice(offset, chunk.length).equals(chunk);
	}
}
