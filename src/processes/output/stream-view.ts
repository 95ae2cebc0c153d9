import type {Chunk} from './output-log.js';

/** Head and tail of one stream, with the size of the gap between them. */
export interface StreamView {
	/** Head and tail in one; `omittedBytes` are missing after the first `headBytes`. */
	readonly bytes: Uint8Array;
	readonly headBytes: number;
	readonly omittedBytes: number;
	readonly totalBytes: number;
}

/** `head` and the retained chunks of one stream, which has had so many bytes. */
export function joinStream(head: Uint8Array | undefined, tail: readonly Chunk[], totalBytes: number): StreamView {
	const headBytes = head?.length ?? 0;
	const bytes = new Uint8Array(tail.reduce((sum, chunk) => sum + chunk.bytes.length, headBytes));
	if (head) bytes.set(head);
	let offset = headBytes;
	for (const chunk of tail) {
		bytes.set(chunk.bytes, offset);
		offset += chunk.bytes.length;
	}
	return {bytes, headBytes, omittedBytes: totalBytes - bytes.length, totalBytes};
}
