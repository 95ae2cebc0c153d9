import {damagedError} from './transfer-outcome.js';

/** Block size of tar. */
const RECORD_BYTES = 512;
/** Two zero records end an archive. */
const END_BYTES = 2 * RECORD_BYTES;
/** Long names and pax records before an entry, which tar-stream buffers in memory. */
const MAX_HEADERS_BYTES = 1024 * 1024;
const ZEROS = Buffer.alloc(4096);

/**
 * Checks that tar-stream does not make: that the archive has its end marker, and that the headers between two entries
 * are bounded.
 */
export class ArchiveEndCheck {
	#position = 0;
	/** Offset after the last byte that is not zero. */
	#meaningful = 0;
	/** Offset at which the content of the last entry ends. */
	#entryEnd = 0;

	/** Adds the next chunk of the archive. */
	add(chunk: Uint8Array): void {
		const length = countMeaningfulBytes(chunk);
		if (length > 0) this.#meaningful = this.#position + length;
		this.#position += chunk.length;
	}

	/** Called for each entry, with the offset of its header. */
	startEntry(headerOffset: number, size: number): void {
		this.#entryEnd = headerOffset + RECORD_BYTES + Math.ceil(size / RECORD_BYTES) * RECORD_BYTES;
	}

	/** Throws if the headers since the last entry exceed the limit. */
	requireEntries(): void {
		if (this.#meaningful - this.#entryEnd > MAX_HEADERS_BYTES) throw damagedError('an entry has endless headers');
	}

	requireEnd(): void {
		const isWhole = this.#position % RECORD_BYTES === 0 && this.#position - this.#entryEnd >= END_BYTES;
		if (!isWhole || this.#meaningful > this.#entryEnd) throw damagedError('the archive is cut off');
	}
}

/** Length without trailing zeros. */
function countMeaningfulBytes(chunk: Uint8Array): number {
	let length = chunk.length;
	while (length > 0) {
		const start = Math.max(0, length - ZEROS.length);
		if (ZEROS.compare(chunk, start, length, 0, length - start) !== 0) break;
		length = start;
	}
	while (length > 0 && chunk[length - 1] === 0) length--;
	return length;
}
