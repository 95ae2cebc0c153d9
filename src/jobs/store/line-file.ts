import type {FileHandle} from 'node:fs/promises';
import {JobInputError} from '../input/job-input-error.js';

/** Bytes of one read. */
const WINDOW_BYTES = 256 * 1024;
/** Longest line. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Lines of a file by their place. Neighbouring lines come from one read; memory is one window, whatever the size of the
 * file.
 */
export class LineFile {
	readonly #file: FileHandle;
	#window = Buffer.alloc(0);
	#from = 0;

	constructor(file: FileHandle) {
		this.#file = file;
	}

	/** The line that begins at this byte, without its end. */
	async lineAt(place: number): Promise<string> {
		return this.#inWindow(place) ?? (await this.#read(place, WINDOW_BYTES));
	}

	#inWindow(place: number): string | undefined {
		const begin = place - this.#from;
		if (begin < 0 || begin >= this.#window.length) return undefined;
		const end = this.#window.indexOf(NEWLINE, begin);
		return end < 0 ? undefined : this.#window.toString('utf8', begin, end);
	}

	async #read(place: number, bytes: number): Promise<string> {
		const buffer = Buffer.allocUnsafe(bytes);
		const {bytesRead} = await this.#file.read(buffer, 0, bytes, place);
		const end = buffer.subarray(0, bytesRead).indexOf(NEWLINE);
		if (end >= 0) {
			this.#window = buffer.subarray(0, bytesRead);
			this.#from = place;
			return buffer.toString('utf8', 0, end);
		}
		if (bytesRead < bytes || bytes >= MAX_LINE_BYTES) throw new JobInputError(`there is no line at byte ${place}`);
		return this.#read(place, 2 * bytes);
	}
}

/** A whole line of a file and its place. */
export interface PlacedLine {
	readonly place: number;
	readonly bytes: Buffer;
}

/** Lines in order, as they are, from the beginning to `end`; a last one without a line end is left out. */
export async function* readPlacedLines(file: FileHandle, end: number): AsyncGenerator<PlacedLine, void, void> {
	let window = Buffer.allocUnsafe(WINDOW_BYTES);
	let from = 0;
	for (let place = 0; place < end; ) {
		const {bytesRead} = await file.read(window, 0, Math.min(window.length, end - place), place);
		if (bytesRead === 0) return;
		const content = window.subarray(0, bytesRead);
		from = 0;
		for (let at = content.indexOf(NEWLINE); at >= 0; at = content.indexOf(NEWLINE, from)) {
			yield {place: place + from, bytes: content.subarray(from, at)};
			from = at + 1;
		}
		if (from === 0) {
			if (place + bytesRead >= end) return;
			if (window.length >= MAX_LINE_BYTES) throw new JobInputError(`the line at byte ${place} is too long`);
			window = Buffer.allocUnsafe(2 * window.length);
		}
		place += from;
	}
}
