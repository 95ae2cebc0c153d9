import type {Chunk, OutputLog} from '../output/output-log.js';

/** A place in the output: an event, a byte over all streams, a time in milliseconds since 1970, or the last lines. */
export type LogPlace =
	| {readonly seq: number}
	| {readonly byte: number}
	| {readonly ms: number}
	| {readonly tail: number};

/** Output with its position, and its time where that was recorded. */
export interface LogChunk extends Chunk {
	/** Position in the output of all streams together. */
	readonly offset: number;
	/** Milliseconds since 1970; undefined for output that is in memory only. */
	readonly ms: number | undefined;
}

/** An entry of the log of a process: output, or something that was recorded beside it. */
export type LoggedEntry =
	| ({readonly kind: 'output'} & LogChunk)
	| {readonly kind: 'resize'; readonly seq: number; readonly ms: number; readonly rows: number; readonly cols: number}
	| {readonly kind: 'input'; readonly seq: number; readonly ms: number; readonly bytes: Uint8Array}
	| {readonly kind: 'exited' | 'closed' | 'marker' | 'dropped'; readonly seq: number; readonly ms: number};

/** Reads the log of a process forwards; at its end it can go on when there is more. Bytes are valid until the next call. */
export interface LoggedEntries {
	nextEntry(): LoggedEntry | undefined;
	/** Position in the output of the next byte. */
	readonly nextByte: number;
	/** Bytes of output that are missing between the beginning and the next chunk. */
	readonly missedBytes: number;
	close(): void;
}

const NEWLINE = 0x0a;

/** The output of a process that is in memory only: as much as is retained, without times. */
export class RetainedEntries implements LoggedEntries {
	readonly #chunks: readonly LogChunk[];
	#next = 0;
	nextByte: number;
	readonly missedBytes: number;

	constructor(log: OutputLog, place: LogPlace) {
		const all = withOffsets(log);
		const first = all[0]?.offset ?? log.totalBytes;
		const wanted = findStart(all, place, log.totalBytes);
		this.#chunks = all.flatMap(chunk => cutBefore(chunk, wanted));
		this.missedBytes = Math.max(0, first - wanted);
		this.nextByte = Math.max(first, wanted);
	}

	nextEntry(): LoggedEntry | undefined {
		const chunk = this.#chunks[this.#next++];
		if (!chunk) return undefined;
		this.nextByte = chunk.offset + chunk.bytes.length;
		return {kind: 'output', ...chunk};
	}

	close(): void {}
}

function withOffsets(log: OutputLog): LogChunk[] {
	let offset = log.totalBytes - log.retainedBytes;
	return log.read(0).chunks.map(chunk => {
		const placed = {...chunk, offset, ms: undefined};
		offset += chunk.bytes.length;
		return placed;
	});
}

/** The first wanted byte; times are not known, so that all output is later than any. */
function findStart(chunks: readonly LogChunk[], place: LogPlace, totalBytes: number): number {
	if ('byte' in place) return Math.min(place.byte, totalBytes);
	if ('ms' in place) return 0;
	if ('seq' in place) return place.seq <= 1 ? 0 : (chunks.find(({seq}) => seq >= place.seq)?.offset ?? totalBytes);
	return findTail(chunks, place.tail, totalBytes);
}

/** Beginning of the last lines; a line end at the very end begins no line. */
function findTail(chunks: readonly LogChunk[], lines: number, totalBytes: number): number {
	let left = lines;
	if (left === 0) return totalBytes;
	for (const {bytes, offset} of chunks.toReversed()) {
		for (let at = bytes.length - 1; at >= 0; at--) {
			if (bytes[at] === NEWLINE && offset + at < totalBytes - 1 && --left === 0) return offset + at + 1;
		}
	}
	return chunks[0]?.offset ?? totalBytes;
}

function cutBefore(chunk: LogChunk, byte: number): LogChunk[] {
	const {offset, bytes} = chunk;
	if (offset + bytes.length <= byte) return [];
	if (offset >= byte) return [chunk];
	return [{...chunk, bytes: bytes.subarray(byte - offset), offset: byte}];
}
