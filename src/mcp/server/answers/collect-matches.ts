import type {LogEntry} from '../../../client/process/shared-process.js';
import {HeadTailBuffer} from '../../../shared/head-tail-buffer.js';
import {groupDigits, type OutputExcerpt, toExcerpt} from './output-excerpt.js';

/** Output of matching lines that is looked at; a filter that leaves out nothing must not read a whole disk. */
export const MAX_MATCHED_BYTES = 16 * 1024 * 1024;

/** Matching lines of a log within `maxChars`, the first ones and the last ones. */
export async function collectMatches(entries: AsyncIterable<LogEntry>, maxChars: number): Promise<OutputExcerpt> {
	const kept = new HeadTailBuffer(maxChars);
	let missedBytes = 0;
	let isCut = false;
	for await (const entry of entries) {
		if (entry.kind === 'gap') missedBytes += entry.missedBytes;
		else kept.push(entry.bytes);
		isCut = kept.total > MAX_MATCHED_BYTES;
		if (isCut) break;
	}
	const bytes = kept.bytes();
	const half = Math.floor(kept.cap / 2);
	const isWhole = kept.omitted === 0;
	const excerpt = toExcerpt({
		head: isWhole ? bytes : bytes.subarray(0, half),
		tail: isWhole ? new Uint8Array(0) : bytes.subarray(half),
		leftOutBytes: kept.omitted,
		missedBytes,
		endByte: kept.total,
	});
	if (!isCut) return excerpt;
	return {...excerpt, text: `${excerpt.text}\n… stopped after ${groupDigits(kept.total)} bytes of matching lines …`};
}
