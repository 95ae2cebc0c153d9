import {decodeRecord, RECORD_BYTES, type SpillRecord} from './spill-record.js';
import {readFully} from './state-files.js';

/** Records read at once when they are looked through one by one. */
const WINDOW_RECORDS = 512;

/**
 * Records looked through one by one for one question: a file that is mostly a hole, as of a damaged disk, must not stop the
 * program. Records of real output are never that far apart.
 */
export const MAX_SCANNED_RECORDS = 1024 * 1024;

export interface FoundRecord {
	readonly index: number;
	readonly record: SpillRecord;
}

/** Says for a record whether it is at the wanted place or behind it. */
export type IsReached = (record: SpillRecord, index: number) => boolean;

// Calls are synchronous, so that all searches can share them.
const single = Buffer.alloc(RECORD_BYTES);
const window = Buffer.alloc(RECORD_BYTES * WINDOW_RECORDS);

/**
 * Searches in an open index; record 0 is its header. Records of output that was dropped may be a hole, which begins
 * behind the header: everything in it is before anything that is looked for.
 */
export class SpillIndex {
	readonly #fd: number;
	#scannedRecords = 0;

	constructor(fd: number) {
		this.#fd = fd;
	}

	/** Undefined for a hole, for damage and beyond the end. */
	read(index: number): SpillRecord | undefined {
		const length = readFully(this.#fd, single, RECORD_BYTES, index * RECORD_BYTES);
		return length === RECORD_BYTES ? decodeRecord(single, 0) : undefined;
	}

	/** First record from `from` on and before `end` for which all that follow are reached, too; `end` if there is none. */
	find(from: number, end: number, isReached: IsReached): number {
		let low = from;
		let high = end;
		while (low < high) {
			const middle = Math.floor((low + high) / 2);
			const record = this.read(middle);
			if (record && isReached(record, middle)) high = middle;
			else low = middle + 1;
		}
		return low;
	}

	/** The same among records of output only, whatever is between them. */
	findOutput(from: number, end: number, isReached: IsReached): FoundRecord | undefined {
		let low = from;
		let high = end;
		let found: FoundRecord | undefined;
		while (low < high) {
			const middle = Math.floor((low + high) / 2);
			const output = this.firstOutput(middle, high);
			if (!output) high = middle;
			else if (isReached(output.record, output.index)) {
				found = output;
				high = middle;
			} else low = output.index + 1;
		}
		return found;
	}

	firstOutput(from: number, end: number): FoundRecord | undefined {
		for (let start = from; start < end; start += WINDOW_RECORDS) {
			const count = this.#fill(start, Math.min(end, start + WINDOW_RECORDS));
			for (let slot = 0; slot < count; slot++) {
				const record = decodeRecord(window, slot * RECORD_BYTES);
				if (record?.kind === 'output') return {index: start + slot, record};
			}
		}
		return undefined;
	}

	/** Looks backwards. */
	findLast(from: number, end: number, test: (record: SpillRecord) => boolean): FoundRecord | undefined {
		for (let stop = end; stop > from; stop -= WINDOW_RECORDS) {
			const start = Math.max(from, stop - WINDOW_RECORDS);
			for (let slot = this.#fill(start, stop) - 1; slot >= 0; slot--) {
				const record = decodeRecord(window, slot * RECORD_BYTES);
				if (record && test(record)) return {index: start + slot, record};
			}
		}
		return undefined;
	}

	/** Number of whole records that were read. Throws when too many have been. */
	#fill(start: number, end: number): number {
		this.#scannedRecords += end - start;
		if (this.#scannedRecords > MAX_SCANNED_RECORDS) throw new Error('the index of its output is damaged');
		const length = readFully(this.#fd, window, (end - start) * RECORD_BYTES, start * RECORD_BYTES);
		return Math.floor(length / RECORD_BYTES);
	}
}
