import type {HandoffSink, HandoffSource, StoredBytes} from '../../shared/node/handoff-file.js';
import {copyChunk, MIN_BLOCK_BYTES} from '../output/chunk-pool.js';
import type {LogState} from '../output/log-state.js';
import type {Chunk, OutputStream} from '../output/output-log.js';

/** In the order of their numbers in a record. */
const STREAMS: readonly OutputStream[] = ['stdout', 'stderr', 'pty'];
/** Sequence number, stream and length of a chunk. */
const NUMBERS_PER_CHUNK = 3;

/** Chunks of this average size are written as they are; smaller ones are copied. */
const MIN_PIECE_BYTES = 4096;

/** An output log in a handoff: JSON, and places of bytes. */
export interface LogRecord
	extends Pick<
		LogState,
		| 'firstOrdinal'
		| 'totalBytes'
		| 'nextSeq'
		| 'streamBytes'
		| 'exit'
		| 'closedSeq'
		| 'acknowledgedSeq'
		| 'deliveredSeq'
	> {
	/** Numbers of all chunks. */
	readonly chunks: StoredBytes;
	/** Bytes of all chunks, one after the other. */
	readonly content: StoredBytes;
	readonly evictions: {readonly entries: StoredBytes; readonly total: number};
	readonly heads: readonly (readonly [OutputStream, StoredBytes])[];
}

export function storeLog({chunks, evictions, heads, ...rest}: LogState, sink: HandoffSink): LogRecord {
	return {
		...rest,
		chunks: storeNumbers(numbersOf(chunks), sink),
		content: sink.store(...joinChunks(chunks)),
		evictions: {entries: storeNumbers(evictions.entries, sink), total: evictions.total},
		heads: heads.map(([stream, bytes]) => [stream, sink.store(bytes)]),
	};
}

export function loadLog({chunks, content, evictions, heads, ...rest}: LogRecord, source: HandoffSource): LogState {
	return {
		...rest,
		chunks: splitChunks(loadNumbers(chunks, source), source.load(content)),
		evictions: {entries: loadNumbers(evictions.entries, source), total: evictions.total},
		heads: heads.map(([stream, stored]) => [stream, source.load(stored)]),
	};
}

function numbersOf(chunks: readonly Chunk[]): Float64Array {
	const numbers = new Float64Array(chunks.length * NUMBERS_PER_CHUNK);
	let at = 0;
	for (const {seq, stream, bytes} of chunks) {
		numbers[at++] = seq;
		numbers[at++] = STREAMS.indexOf(stream);
		numbers[at++] = bytes.length;
	}
	return numbers;
}

/** Many small chunks as one: each piece of a file costs more than its bytes. */
function joinChunks(chunks: readonly Chunk[]): readonly Uint8Array[] {
	const pieces = chunks.map(({bytes}) => bytes);
	const total = pieces.reduce((sum, {length}) => sum + length, 0);
	return total >= pieces.length * MIN_PIECE_BYTES ? pieces : [Buffer.concat(pieces, total)];
}

/** A large one gets memory of its own, because its log returns that; small ones share theirs. */
function splitChunks(numbers: Float64Array, content: Buffer): Chunk[] {
	const chunks: Chunk[] = [];
	let at = 0;
	for (let index = 0; index < numbers.length; index += NUMBERS_PER_CHUNK) {
		const length = numbers[index + 2]!;
		const shared = content.subarray(at, at + length);
		const bytes = length < MIN_BLOCK_BYTES ? shared : copyChunk(shared, length);
		chunks.push({seq: numbers[index]!, stream: STREAMS[numbers[index + 1]!]!, bytes});
		at += length;
	}
	return chunks;
}

function storeNumbers(numbers: Float64Array, sink: HandoffSink): StoredBytes {
	return sink.store(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
}

function loadNumbers(stored: StoredBytes, source: HandoffSource): Float64Array {
	const bytes = source.load(stored);
	return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / Float64Array.BYTES_PER_ELEMENT);
}
