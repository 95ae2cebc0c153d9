import type {OutputStream} from '../output/output-log.js';

/** Size of every record of an index. */
export const RECORD_BYTES = 32;
/** Longest chunk of output or input that one record stands for. */
export const MAX_RECORDED_BYTES = 64 * 1024 * 1024;

const KINDS = ['output', 'exit', 'closed', 'resize', 'input', 'dropped', 'marker'] as const;
const STREAMS = ['stdout', 'stderr', 'pty'] as const satisfies readonly OutputStream[];

/** Output, exit and close are events with a number of their own; the others carry the number of the event before them. */
export type RecordKind = (typeof KINDS)[number];

/** One entry of the index, in the order in which things happened. */
export interface SpillRecord {
	readonly kind: RecordKind;
	/** Stream of output; of nothing else. */
	readonly stream: OutputStream | undefined;
	/** Bytes of output, input or a marker's label. */
	readonly length: number;
	readonly seq: number;
	/**
	 * Position of output in `out`, of input or a label in `in`; for a resize `rows << 16 | columns`; for `dropped` all
	 * bytes of output that were dropped so far.
	 */
	readonly offset: number;
	/** Milliseconds since 1970; never less than that of the record before. */
	readonly ms: number;
}

/** Events have a number of their own. */
export function isEvent({kind}: SpillRecord): boolean {
	return kind === 'output' || kind === 'exit' || kind === 'closed';
}

/** Writes a record: little-endian, kind u8, stream u8, 0 u16, length u32, seq u64, offset u64, ms u64. */
export function encodeRecord(target: Buffer, at: number, record: SpillRecord): void {
	target[at] = KINDS.indexOf(record.kind) + 1;
	target[at + 1] = record.stream === undefined ? 0 : STREAMS.indexOf(record.stream) + 1;
	target[at + 2] = 0;
	target[at + 3] = 0;
	target.writeUInt32LE(record.length, at + 4);
	writeU64(target, at + 8, record.seq);
	writeU64(target, at + 16, record.offset);
	writeU64(target, at + 24, record.ms);
}

/** Undefined for bytes that no record has: a hole, or damage. */
export function decodeRecord(source: Buffer, at: number): SpillRecord | undefined {
	const kind = KINDS[source[at]! - 1];
	const stream = STREAMS[source[at + 1]! - 1];
	const hasStream = source[at + 1] !== 0;
	if (kind === undefined || hasStream !== (stream !== undefined) || hasStream !== (kind === 'output')) return undefined;
	if (source[at + 2] !== 0 || source[at + 3] !== 0) return undefined;
	const length = source.readUInt32LE(at + 4);
	const seq = readU64(source, at + 8);
	const offset = readU64(source, at + 16);
	const ms = readU64(source, at + 24);
	const isWhole = length <= MAX_RECORDED_BYTES && [seq, offset, offset + length, ms].every(Number.isSafeInteger);
	return isWhole ? {kind, stream, length, seq, offset, ms} : undefined;
}

/** Size of a terminal as the offset of its record. */
export function packSize(rows: number, cols: number): number {
	return rows * 0x1_00_00 + cols;
}

export function unpackSize(offset: number): {readonly rows: number; readonly cols: number} {
	return {rows: Math.floor(offset / 0x1_00_00), cols: offset % 0x1_00_00};
}

function writeU64(target: Buffer, at: number, value: number): void {
	target.writeUInt32LE(value >>> 0, at);
	target.writeUInt32LE(Math.floor(value / 0x1_0000_0000), at + 4);
}

/** Not safe as an integer above 2^53, which no position or time reaches. */
function readU64(source: Buffer, at: number): number {
	return source.readUInt32LE(at) + source.readUInt32LE(at + 4) * 0x1_0000_0000;
}
