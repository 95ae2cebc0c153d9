import {LongarmError} from '../../shared/errors.js';
import {removeSpill} from './remove-spill.js';
import type {DroppedOutput} from './spill-extent.js';
import type {SpillFiles} from './spill-files.js';
import {SpillIndex} from './spill-index.js';
import {SpillCursor, type SpillPosition, type SpillSource} from './spill-reader.js';
import {isEvent, RECORD_BYTES} from './spill-record.js';
import {findTailStart} from './tail-lines.js';

/** A place in the output: an event, a byte over all streams, a time in milliseconds since 1970, or the last lines. */
export type SpillPlace =
	| {readonly seq: number}
	| {readonly byte: number}
	| {readonly ms: number}
	| {readonly tail: number};

/** The part of a spill that reads. */
export abstract class StoredSpill implements SpillSource {
	readonly files: SpillFiles;
	readonly #startedAtMs: number;
	protected dropped: DroppedOutput;
	#firstRecord: number;
	#firstSeq: number | undefined;

	constructor(
		files: SpillFiles,
		{dropped, firstRecord, startedAtMs}: {dropped: DroppedOutput; firstRecord: number; startedAtMs: number},
	) {
		this.files = files;
		this.dropped = dropped;
		this.#firstRecord = firstRecord;
		this.#startedAtMs = startedAtMs;
	}

	abstract readonly recordCount: number;
	abstract readonly outputBytes: number;
	abstract readonly writtenSeq: number;
	abstract flush(): void;
	abstract close(): void;

	get directory(): string {
		return this.files.directory;
	}

	get firstRecord(): number {
		return this.#firstRecord;
	}

	get totalDroppedBytes(): number {
		return this.dropped.bytes;
	}

	/** Bytes of output, and of its index, that are kept. */
	get bytes(): number {
		const records = Math.max(0, this.recordCount - this.#firstRecord);
		return this.outputBytes - this.dropped.bytes + records * RECORD_BYTES;
	}

	/** Files that were removed, or cannot be read, hold nothing. */
	get firstSeq(): number {
		this.#firstSeq ??= unlessUnreadable(() =>
			this.files.with(({idx}) => new SpillIndex(idx).firstOutput(this.#firstRecord, this.recordCount)?.record.seq),
		);
		return this.#firstSeq ?? this.writtenSeq + 1;
	}

	/** Exact from the very beginning and within the index that is kept; a lower bound in between, and where it cannot be read. */
	droppedBytes(afterSeq: number, throughSeq: number): number {
		const last = Math.min(throughSeq, this.dropped.seq);
		if (afterSeq >= last) return 0;
		return unlessUnreadable(() => this.#findDroppedByte(last) - this.#findDroppedByte(afterSeq)) ?? 0;
	}

	/** The files are gone at once, and their space soon. */
	async discard(): Promise<void> {
		this.close();
		this.files.markRemoved();
		await removeSpill(this.directory);
	}

	openReader(afterSeq: number): SpillCursor {
		return this.readFrom({seq: afterSeq + 1});
	}

	/** A reader from a place on; the oldest that is kept stands for everything before it. */
	readFrom(place: SpillPlace): SpillCursor {
		return new SpillCursor(this, this.#locate(place));
	}

	/** Everything up to this was dropped. */
	protected moveFirstRecord(firstRecord: number, dropped: DroppedOutput): void {
		this.#firstRecord = firstRecord;
		this.dropped = dropped;
		this.#firstSeq = undefined;
	}

	/** Position in the output behind an event that was dropped. */
	#findDroppedByte(seq: number): number {
		const {dropped} = this;
		return seq >= dropped.seq ? dropped.bytes : Math.min(dropped.bytes, this.#locateSeq(seq).byte);
	}

	#locate(place: SpillPlace): SpillPosition {
		this.flush();
		if ('seq' in place) return {...this.#locateSeq(place.seq - 1), afterSeq: place.seq - 1};
		if ('byte' in place) return this.#locateByte(place.byte);
		if ('ms' in place) return this.#locateMs(place.ms);
		const range = {start: this.dropped.bytes, end: this.outputBytes};
		return this.#locateByte(this.files.with(({out}) => findTailStart(out, range, place.tail)));
	}

	#locateSeq(afterSeq: number): SpillPosition {
		if (afterSeq <= 0) return this.#beginning;
		return this.#toPosition(index =>
			index.find(1, this.recordCount, record => record.seq > afterSeq || (record.seq === afterSeq && !isEvent(record))),
		);
	}

	#locateMs(ms: number): SpillPosition {
		if (ms <= this.#startedAtMs) return this.#beginning;
		return this.#toPosition(index => index.find(1, this.recordCount, record => record.ms >= ms));
	}

	#locateByte(byte: number): SpillPosition {
		if (byte <= this.dropped.bytes) return {record: this.#firstRecord, byte};
		const count = this.recordCount;
		const isReached = ({offset, length}: {offset: number; length: number}): boolean => offset + length > byte;
		const found = this.files.with(({idx}) => new SpillIndex(idx).findOutput(this.#firstRecord, count, isReached));
		return {record: found?.index ?? count, byte: Math.min(byte, this.outputBytes)};
	}

	get #beginning(): SpillPosition {
		return {record: this.#firstRecord, byte: 0};
	}

	#toPosition(find: (index: SpillIndex) => number): SpillPosition {
		return this.files.with(({idx}) => {
			const index = new SpillIndex(idx);
			const record = find(index);
			const byte = index.firstOutput(record, this.recordCount)?.record.offset ?? this.outputBytes;
			return {record: Math.max(record, this.#firstRecord), byte};
		});
	}
}

function unlessUnreadable<T>(read: () => T): T | undefined {
	try {
		return read();
	} catch (error) {
		if (error instanceof LongarmError) return undefined;
		throw error;
	}
}
