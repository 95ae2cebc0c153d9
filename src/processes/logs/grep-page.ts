import type {OutputStream} from '../output/output-log.js';
import type {LogChunk, LoggedEntries} from './log-entries.js';
import {type LogPage, MAX_SCANNED_BYTES, MAX_SCANNED_ENTRIES, type PageRequest} from './log-page.js';

/** Bytes of one line; a longer one is looked at in pieces. */
const MAX_LINE_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/** Tells which of some lines match, by their index. */
export type MatchLines = (lines: readonly string[]) => Promise<readonly number[]>;

/**
 * A page with the lines that match, each of them one chunk with its line end. Streams are put into lines each on its own.
 * The page ends where no line is cut in two, unless one is too long.
 */
export async function readGrepPage(
	entries: LoggedEntries,
	{maxBytes, stream}: PageRequest,
	match: MatchLines,
): Promise<LogPage> {
	const lines = new LineSplitter();
	let scanned = 0;
	let isAtEnd = false;
	let lastSeq = 0;
	for (let count = 0; count < MAX_SCANNED_ENTRIES; count++) {
		const isFull = scanned >= Math.max(maxBytes, MAX_LINE_BYTES);
		if ((isFull && lines.isBetweenLines) || scanned >= MAX_SCANNED_BYTES) break;
		const entry = entries.nextEntry();
		if (!entry) {
			isAtEnd = true;
			break;
		}
		lastSeq = entry.seq;
		if (entry.kind !== 'output' || (stream !== undefined && entry.stream !== stream)) continue;
		scanned += entry.bytes.length;
		lines.add(entry);
	}
	const found = lines.finish();
	const decoder = new TextDecoder();
	const matching = await match(found.map(({bytes}) => decoder.decode(bytes).replace(/\r?\n$/, '')));
	return {
		chunks: matching.map(index => found[index]!),
		records: [],
		nextByte: entries.nextByte,
		lastSeq,
		isAtEnd,
		missedBytes: entries.missedBytes,
	};
}

/** Puts chunks of several streams together to lines, in the order in which the lines end. */
class LineSplitter {
	readonly #lines: LogChunk[] = [];
	/** Beginning of a line of each stream. */
	readonly #partial = new Map<OutputStream, LogChunk>();

	/** True if no line has begun that has not ended. */
	get isBetweenLines(): boolean {
		return this.#partial.size === 0;
	}

	add(chunk: LogChunk): void {
		const {stream} = chunk;
		// A copy, since the bytes are those of the reader; `slice` of a buffer of Node would make none.
		let rest = joinChunks(this.#partial.get(stream), {...chunk, bytes: new Uint8Array(chunk.bytes)});
		this.#partial.delete(stream);
		for (let end = rest.bytes.indexOf(NEWLINE); end >= 0; end = rest.bytes.indexOf(NEWLINE)) {
			this.#lines.push({...rest, bytes: rest.bytes.subarray(0, end + 1)});
			rest = {
				...rest,
				seq: chunk.seq,
				ms: chunk.ms,
				offset: rest.offset + end + 1,
				bytes: rest.bytes.subarray(end + 1),
			};
		}
		if (rest.bytes.length > MAX_LINE_BYTES) this.#lines.push({...rest, bytes: rest.bytes});
		else if (rest.bytes.length > 0) this.#partial.set(stream, {...rest, bytes: rest.bytes});
	}

	/** All lines; those that have not ended, too. */
	finish(): LogChunk[] {
		return [...this.#lines, ...this.#partial.values()];
	}
}

function joinChunks(before: LogChunk | undefined, chunk: LogChunk): LogChunk {
	if (!before) return chunk;
	const bytes = new Uint8Array(before.bytes.length + chunk.bytes.length);
	bytes.set(before.bytes);
	bytes.set(chunk.bytes, before.bytes.length);
	return {...before, bytes};
}
