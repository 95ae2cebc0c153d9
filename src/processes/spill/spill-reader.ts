import {BufferPool} from '../../shared/node/buffer-pool.js';
import type {Chunk, OutputStream} from '../output/output-log.js';
import type {SpillReader} from '../output/output-spill.js';
import type {SpillFiles} from './spill-files.js';
import {decodeRecord, RECORD_BYTES, type SpillRecord, unpackSize} from './spill-record.js';
import {readFully, toStateError} from './state-files.js';

/** Bytes of output that are read at once, so that many small chunks cost one system call. */
const WINDOW_BYTES = 128 * 1024;
const INDEX_WINDOW_BYTES = 512 * RECORD_BYTES;
const MAX_FREE_WINDOWS = 16;

const windows = new BufferPool(WINDOW_BYTES, MAX_FREE_WINDOWS);
const indexWindows = new BufferPool(INDEX_WINDOW_BYTES, MAX_FREE_WINDOWS);

/** The files of one process as a reader sees them. */
export interface SpillSource {
	readonly files: SpillFiles;
	/** Records that can be read, the header included. */
	readonly recordCount: number;
	/** Index of the oldest record that was not dropped. */
	readonly firstRecord: number;
	/** Bytes in `out`, the dropped ones included. */
	readonly outputBytes: number;
	/** Bytes of output that were dropped, all of them from the beginning. */
	readonly totalDroppedBytes: number;
	/** Hands everything to the kernel, as far as it takes it. */
	flush(): void;
}

export interface SpilledChunk extends Chunk {
	/** Position in the output of all streams together. */
	readonly offset: number;
	/** Milliseconds since 1970. */
	readonly ms: number;
}

/** An entry of a recording. Entries other than output, exit and close carry the number of the event before them. */
export type SpillEntry =
	| ({readonly kind: 'output'} & SpilledChunk)
	| {readonly kind: 'exited' | 'closed'; readonly seq: number; readonly ms: number}
	| {readonly kind: 'resize'; readonly seq: number; readonly ms: number; readonly rows: number; readonly cols: number}
	| {readonly kind: 'input'; readonly seq: number; readonly ms: number; readonly bytes: Uint8Array}
	| {readonly kind: 'marker'; readonly seq: number; readonly ms: number; readonly label: string}
	/** Output was dropped at this time; `bytes` of it by then, all of them from the beginning. */
	| {readonly kind: 'dropped'; readonly seq: number; readonly ms: number; readonly bytes: number};

/** Where reading begins: at a record, and at a byte of the output, which may be within a chunk. */
export interface SpillPosition {
	readonly record: number;
	readonly byte: number;
	/** Output up to this event is left out, also when it is written only later. */
	readonly afterSeq?: number;
}

/**
 * Reads the records of a spill in order; at the end it can go on when there is more. Its memory does not depend on the
 * size of the files, and at the end it has none. Bytes are valid until the next call.
 */
export class SpillCursor implements SpillReader {
	readonly #source: SpillSource;
	readonly #afterSeq: number;
	#next: number;
	#nextByte: number;
	#lastSeq: number | undefined;
	#missedBytes = 0;
	#isClosed = false;
	#records: Buffer | undefined;
	#recordsAt = 0;
	#recordsEnd = 0;
	#output: Buffer | undefined;
	#outputAt = 0;
	#outputEnd = 0;

	constructor(source: SpillSource, {record, byte, afterSeq = 0}: SpillPosition) {
		this.#source = source;
		this.#afterSeq = afterSeq;
		this.#next = record;
		this.#nextByte = byte;
		source.files.retain();
	}

	/** Bytes of output that were dropped between the beginning and the next chunk. */
	get missedBytes(): number {
		return this.#missedBytes + Math.max(0, this.#source.totalDroppedBytes - this.#nextByte);
	}

	/** Position in the output of the next byte. */
	get nextByte(): number {
		return Math.max(this.#nextByte, this.#source.totalDroppedBytes);
	}

	/** Number of the last event that was read; undefined before the first. */
	get lastSeq(): number | undefined {
		return this.#lastSeq;
	}

	next(): SpilledChunk | undefined {
		for (;;) {
			const record = this.#nextRecord();
			if (!record) return undefined;
			const chunk = record.kind === 'output' ? this.#readOutput(record, record.stream!) : undefined;
			if (chunk) return chunk;
		}
	}

	skip(seq: number): number | undefined {
		for (let record = this.#peekRecord(); record; record = this.#peekRecord()) {
			const isNext = record.kind === 'output' && record.seq === seq && record.offset === this.nextByte;
			if (record.kind === 'output' && !isNext) return undefined;
			this.#passRecord(record);
			if (!isNext) continue;
			this.#nextByte = record.offset + record.length;
			return record.length;
		}
		return undefined;
	}

	/** The same with everything that was recorded. */
	nextEntry(): SpillEntry | undefined {
		for (;;) {
			const record = this.#nextRecord();
			if (!record) return undefined;
			const entry = this.#toEntry(record);
			if (entry) return entry;
		}
	}

	close(): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#releaseWindows();
		this.#source.files.release();
	}

	#nextRecord(): SpillRecord | undefined {
		const record = this.#peekRecord();
		if (record) this.#passRecord(record);
		return record;
	}

	/** Undefined at the end, and in front of a record that is damaged. */
	#peekRecord(): SpillRecord | undefined {
		this.#next = Math.max(this.#next, this.#source.firstRecord);
		if ((this.#next < this.#recordsAt || this.#next >= this.#recordsEnd) && !this.#fillRecords()) return undefined;
		return decodeRecord(this.#records!, (this.#next - this.#recordsAt) * RECORD_BYTES);
	}

	#passRecord({seq}: SpillRecord): void {
		this.#next++;
		this.#lastSeq = seq;
	}

	#fillRecords(): boolean {
		const source = this.#source;
		if (this.#isClosed) return false;
		if (this.#next >= source.recordCount) source.flush();
		// Dropping while the rest is written moves the beginning.
		this.#next = Math.max(this.#next, source.firstRecord);
		const wanted = Math.min((source.recordCount - this.#next) * RECORD_BYTES, INDEX_WINDOW_BYTES);
		if (wanted <= 0) {
			this.#releaseWindows();
			return false;
		}
		this.#records ??= indexWindows.take();
		const {idx} = source.files.descriptors;
		const length = this.#read(idx, this.#records, wanted, this.#next * RECORD_BYTES);
		this.#recordsAt = this.#next;
		this.#recordsEnd = this.#next + Math.floor(length / RECORD_BYTES);
		return this.#recordsEnd > this.#next;
	}

	/** Undefined for a chunk that was dropped, or is before the beginning. */
	#readOutput(record: SpillRecord, stream: OutputStream): SpilledChunk | undefined {
		const {seq, ms, length} = record;
		const end = record.offset + length;
		const isBefore = length > 0 && end <= this.#nextByte;
		if (seq <= this.#afterSeq) this.#nextByte = Math.max(this.#nextByte, end);
		if (isBefore || seq <= this.#afterSeq || record.offset < this.#source.totalDroppedBytes) return undefined;
		const offset = Math.max(record.offset, Math.min(this.#nextByte, end));
		if (!this.#fillOutput(offset, end)) return undefined;
		this.#missedBytes += Math.max(0, offset - this.#nextByte);
		this.#nextByte = end;
		const bytes = this.#output?.subarray(offset - this.#outputAt, end - this.#outputAt) ?? new Uint8Array(0);
		return {seq, stream, bytes, offset, ms};
	}

	/** False if the file is shorter than its index says. */
	#fillOutput(start: number, end: number): boolean {
		if (start === end || (start >= this.#outputAt && end <= this.#outputEnd)) return true;
		const {files, outputBytes} = this.#source;
		if (end - start > WINDOW_BYTES) {
			this.#releaseOutput();
			this.#output = Buffer.allocUnsafe(end - start);
		} else if (this.#output?.length !== WINDOW_BYTES) this.#output = windows.take();
		const wanted = Math.min(this.#output.length, outputBytes - start);
		const length = this.#read(files.descriptors.out, this.#output, wanted, start);
		this.#outputAt = start;
		this.#outputEnd = start + length;
		return this.#outputEnd >= end;
	}

	#toEntry(record: SpillRecord): SpillEntry | undefined {
		const {kind, seq, ms, offset, length} = record;
		switch (kind) {
			case 'output': {
				const chunk = this.#readOutput(record, record.stream!);
				return chunk && {kind, ...chunk};
			}
			case 'exit':
				return {kind: 'exited', seq, ms};
			case 'closed':
				return {kind, seq, ms};
			case 'resize':
				return {kind, seq, ms, ...unpackSize(offset)};
			case 'input':
				return {kind, seq, ms, bytes: this.#readAside(offset, length)};
			case 'marker':
				return {kind, seq, ms, label: this.#readAside(offset, length).toString()};
			case 'dropped':
				return {kind, seq, ms, bytes: offset};
		}
	}

	#readAside(offset: number, length: number): Buffer {
		const {aside} = this.#source.files.descriptors;
		const bytes = Buffer.alloc(length);
		return aside === undefined ? bytes : bytes.subarray(0, this.#read(aside, bytes, length, offset));
	}

	/** STATE_UNUSABLE where the disk fails. */
	#read(fd: number, target: Buffer, length: number, position: number): number {
		try {
			return readFully(fd, target, length, position);
		} catch (error) {
			throw toStateError(error, this.#source.files.directory);
		}
	}

	#releaseWindows(): void {
		if (this.#records) indexWindows.give(this.#records);
		this.#records = undefined;
		this.#recordsAt = 0;
		this.#recordsEnd = 0;
		this.#releaseOutput();
	}

	#releaseOutput(): void {
		if (this.#output?.length === WINDOW_BYTES) windows.give(this.#output);
		this.#output = undefined;
		this.#outputAt = 0;
		this.#outputEnd = 0;
	}
}
