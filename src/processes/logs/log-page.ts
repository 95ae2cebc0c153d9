import type {OutputStream} from '../output/output-log.js';
import type {LogChunk, LoggedEntries, LoggedEntry} from './log-entries.js';

/** Output of one page, if nothing is said; and the most. */
export const DEFAULT_LOG_PAGE_BYTES = 256 * 1024;
export const MAX_LOG_PAGE_BYTES = 4 * 1024 * 1024;
/** Output and entries that are looked through for one page: a filter may leave out most of it. */
export const MAX_SCANNED_BYTES = 8 * 1024 * 1024;
export const MAX_SCANNED_ENTRIES = 65_536;

export interface PageRequest {
	readonly maxBytes: number;
	/** Output of this stream only. */
	readonly stream?: OutputStream | undefined;
	/** Sizes of the terminal and input, too. */
	readonly wantsRecords: boolean;
}

export type AsideEntry = Extract<LoggedEntry, {kind: 'resize' | 'input'}>;

export interface LogPage {
	/** The bytes are copies. */
	readonly chunks: readonly LogChunk[];
	readonly records: readonly AsideEntry[];
	/** Where the next page begins. */
	readonly nextByte: number;
	/** Number of the last event that was looked at; 0 if there was none. */
	readonly lastSeq: number;
	/** There was no more when the page was made. */
	readonly isAtEnd: boolean;
	readonly missedBytes: number;
}

/** Reads one page; at least one chunk if there is one. */
export function readLogPage(entries: LoggedEntries, {maxBytes, stream, wantsRecords}: PageRequest): LogPage {
	const chunks: LogChunk[] = [];
	const records: AsideEntry[] = [];
	let size = 0;
	let scanned = 0;
	let lastSeq = 0;
	let isAtEnd = false;
	for (let count = 0; count < MAX_SCANNED_ENTRIES && size < maxBytes && scanned < MAX_SCANNED_BYTES; count++) {
		const entry = entries.nextEntry();
		if (!entry) {
			isAtEnd = true;
			break;
		}
		lastSeq = entry.seq;
		if (entry.kind === 'output') {
			scanned += entry.bytes.length;
			if (stream !== undefined && entry.stream !== stream) continue;
			chunks.push({...entry, bytes: new Uint8Array(entry.bytes)});
			size += entry.bytes.length;
		} else if (wantsRecords && (entry.kind === 'resize' || entry.kind === 'input')) {
			records.push(entry.kind === 'input' ? {...entry, bytes: new Uint8Array(entry.bytes)} : entry);
		}
	}
	return {chunks, records, nextByte: entries.nextByte, lastSeq, isAtEnd, missedBytes: entries.missedBytes};
}
