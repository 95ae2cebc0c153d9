import type {Chunk, OutputPage} from './log-types.js';
import type {OutputSpill} from './output-spill.js';

/** Output of a page that is read from disk. */
const MAX_SPILLED_PAGE_BYTES = 1024 * 1024;

/**
 * A page of output that begins on disk. Bounded in any case, since that may be more than fits into memory: `isCut` if there
 * is more on disk. The bytes are copies.
 */
export function readSpilled(spill: OutputSpill, afterSeq: number, maxBytes = MAX_SPILLED_PAGE_BYTES): OutputPage {
	const limit = Math.min(maxBytes, MAX_SPILLED_PAGE_BYTES);
	const chunks: Chunk[] = [];
	let size = 0;
	const reader = spill.openReader(afterSeq);
	try {
		for (let chunk = reader.next(); chunk; chunk = reader.next()) {
			if (chunks.length > 0 && size + chunk.bytes.length > limit) {
				const last = chunks.at(-1)!.seq;
				return {chunks, nextSeq: last + 1, missedBytes: spill.droppedBytes(afterSeq, last), isCut: true};
			}
			chunks.push({...chunk, bytes: new Uint8Array(chunk.bytes)});
			size += chunk.bytes.length;
		}
	} finally {
		reader.close();
	}
	const last = chunks.at(-1)?.seq ?? afterSeq;
	return {chunks, nextSeq: last + 1, missedBytes: spill.droppedBytes(afterSeq, last)};
}
