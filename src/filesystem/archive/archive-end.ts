import {damaged} from './transfer-outcome.js';

/** The unit of an archive. */
const RECORD_BYTES = 512;
/** Two empty records end an archive. */
const END_BYTES = 2 * RECORD_BYTES;
/** Long names and records before an entry; tar-stream keeps them in memory. */
const MAX_HEADERS_BYTES = 1024 * 1024;
const ZEROS = Buffer.alloc(4096);

/**
 * Watches over what tar-stream does not: whether an archive came to its proper end, and how much it is made to
 * remember between two entries.
 */
export class ArchiveEnd {
	#position = 0;
	/** Where the last byte was that is not zero, and one further. */
	#meaningful = 0;
	/** Where the content of the last entry ends. */
	#entryEnd = 0;

	/** Another piece of the archive. */
	add(chunk: Uint8Array): void {
		const length = withoutZeros(chunk);
		if (length > 0) this.#meaningful = this.#position + length;
		this.#position += chunk.length;
	}

	/** An entry whose header is at the offset. */
	entry(headerOffset: number, size: number): void {
		this.#entryEnd = headerOffset + RECORD_BYTES + Math.ceil(size / RECORD_BYTES) * RECORD_BYTES;
	}

	/** Throws when something is being collected that is no entry and does not end. */
	requireEntries(): void {
		if (this.#meaningful - this.#entryEnd > MAX_HEADERS_BYTES) throw damaged('an entry has endless headers');
	}

	requireEnd(): void {
		const isWhole = this.#position % RECORD_BYTES === 0 && this.#position - this.#entryEnd >= END_BYTES;
		if (!isWhole || this.#meaningful > this.#entryEnd) throw damaged('the archive is cut off');
	}
}

/** How long the chunk is without the zeros at its end. */
function withoutZeros(chunk: Uint8Array): number {
	let length = chunk.length;
	while (length > 0) {
		const start = Math.max(0, length - ZEROS.length);
		if (ZEROS.compare(chunk, start, length, 0, length - start) !== 0) break;
		length = start;
	}
	while (length > 0 && chunk[length - 1] === 0) length--;
	return length;
}
