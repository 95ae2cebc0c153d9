import type {WriteBytes} from './append-queue.js';
import type {PunchHole} from './file-calls.js';
import type {DroppedOutput} from './spill-extent.js';
import type {SpillDescriptors} from './spill-files.js';
import {SpillIndex} from './spill-index.js';
import {encodeRecord, RECORD_BYTES} from './spill-record.js';

/** Share of the bound that is dropped at once, so that it is rare. */
export const MIN_DROPPED_SHARE = 1 / 16;
/** Index of dropped output that is kept at least, so that readers learn exactly how much they missed. */
const MIN_KEPT_INDEX_BYTES = 1024 * 1024;
/** Less of the index is not worth a hole. */
const MIN_INDEX_HOLE_BYTES = 64 * 1024;
const PAGE_BYTES = 4096;

export interface DropRequest {
	readonly dropped: DroppedOutput;
	readonly firstRecord: number;
	readonly recordCount: number;
	readonly outputBytes: number;
	/** Number of the last event that is on disk, unless more of its output is still in memory. */
	readonly endSeq: number | undefined;
	/** Bytes of output and index to drop. */
	readonly wantedBytes: number;
}

export interface Drop {
	readonly dropped: DroppedOutput;
	readonly firstRecord: number;
}

/** Gives the oldest output of one process back to the disk, as holes in its files: positions stay as they are. */
export class OldestDropper {
	readonly #files: SpillDescriptors;
	readonly #write: WriteBytes;
	readonly #punchHole: PunchHole;
	readonly #keptIndexBytes: number;
	/** Undefined until it was tried. */
	#canPunch: boolean | undefined;
	/** The index behind its header and before this position is a hole. */
	#indexHoleEnd = RECORD_BYTES;

	constructor(
		files: SpillDescriptors,
		{maxBytes, write, punchHole}: {maxBytes: number; write: WriteBytes; punchHole: PunchHole},
	) {
		this.#files = files;
		this.#write = write;
		this.#punchHole = punchHole;
		this.#keptIndexBytes = Math.max(MIN_KEPT_INDEX_BYTES, maxBytes * MIN_DROPPED_SHARE);
	}

	/** False where files can have no holes. */
	isPossible(outputBytes: number): boolean {
		// A hole behind the end changes nothing, and tells whether there can be any.
		this.#canPunch ??= this.#punchHole(this.#files.out, outputBytes, PAGE_BYTES);
		return this.#canPunch;
	}

	/** Drops whole chunks; undefined if there is nothing to drop, the disk cannot be read, or does not take a note of it. */
	drop(request: DropRequest): Drop | undefined {
		const drop = this.#tryToChoose(request);
		// The header comes first: a crash in between must not leave a hole that looks like output.
		if (!drop || !this.#writeHeader(drop.dropped)) return undefined;
		const start = request.dropped.bytes;
		const length = drop.dropped.bytes - start;
		if (length > 0) this.#canPunch = this.#punchHole(this.#files.out, start, length);
		this.#punchIndex(drop.firstRecord);
		return drop;
	}

	#tryToChoose(request: DropRequest): Drop | undefined {
		try {
			return this.#choose(request);
		} catch {
			return undefined;
		}
	}

	#choose({dropped, firstRecord, recordCount, outputBytes, endSeq, wantedBytes}: DropRequest): Drop | undefined {
		const index = new SpillIndex(this.#files.idx);
		const kept = index.findOutput(
			firstRecord + 1,
			recordCount,
			({offset}, at) => offset - dropped.bytes + (at - firstRecord) * RECORD_BYTES >= wantedBytes,
		);
		if (kept) return {firstRecord: kept.index, dropped: {seq: kept.record.seq - 1, bytes: kept.record.offset}};
		if (endSeq === undefined || firstRecord >= recordCount) return undefined;
		return {firstRecord: recordCount, dropped: {seq: endSeq, bytes: outputBytes}};
	}

	#writeHeader({seq, bytes}: DroppedOutput): boolean {
		const {idx} = this.#files;
		try {
			const record = Buffer.alloc(RECORD_BYTES);
			encodeRecord(record, 0, {...new SpillIndex(idx).read(0)!, seq, offset: bytes});
			return this.#write(idx, record, 0, RECORD_BYTES, 0) === RECORD_BYTES;
		} catch {
			return false;
		}
	}

	/** The index of an endless process must not grow without end, either. */
	#punchIndex(firstRecord: number): void {
		const end = Math.floor((firstRecord * RECORD_BYTES - this.#keptIndexBytes) / PAGE_BYTES) * PAGE_BYTES;
		const length = end - this.#indexHoleEnd;
		if (length < MIN_INDEX_HOLE_BYTES) return;
		if (this.#punchHole(this.#files.idx, this.#indexHoleEnd, length)) this.#indexHoleEnd = end;
	}
}
