import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

/** Bytes of a file of content; a longer content begins again. */
export const FILE_BYTES = 4 * 1024 * 1024;
const CELL_BYTES = 16;

/** What programs print: cells that say where they stand, so that no byte can be lost, doubled or moved unnoticed. */
const KINDS = {
	/** Nothing a terminal would change. */
	cells: index => `${cell(index)}|`,
	/** The same for another stream. */
	others: index => `${cell(index)}/`,
	/** For a terminal that takes whole lines. */
	lines: index => `${cell(index)}\n`,
};

/** Scattered digits come first: a shift by a byte shows even where round numbers meet. */
function cell(index) {
	const scattered = (Math.imul(index + 1, 0x9e3779b1) >>> 0).toString(36).padStart(7, '0');
	return `${scattered}${index.toString(16).padStart(8, '.')}`;
}

/** The files programs print from, and the same bytes for comparison. */
export class Library {
	#directory = mkdtempSync(join(tmpdir(), 'longarm-soak-'));
	#bytes = {};

	constructor() {
		for (const [kind, print] of Object.entries(KINDS)) {
			const cells = Array.from({length: FILE_BYTES / CELL_BYTES}, (_, index) => print(index));
			this.#bytes[kind] = Buffer.from(cells.join(''));
			writeFileSync(this.path(kind), this.#bytes[kind]);
		}
	}

	path(kind) {
		return join(this.#directory, kind);
	}

	/** Content of this kind without end, behind a beginning of its own. */
	content(kind, beginning = '') {
		return new Content(this.#bytes[kind], Buffer.from(beginning));
	}

	dispose() {
		rmSync(this.#directory, {recursive: true, force: true});
	}
}

/** A beginning, then the bytes of a file over and over. */
class Content {
	#file;
	#beginning;

	constructor(file, beginning) {
		this.#file = file;
		this.#beginning = beginning;
	}

	slice(offset, length) {
		const parts = [];
		for (let at = offset; at < offset + length; at += parts.at(-1).length) {
			const left = offset + length - at;
			const inBody = at - this.#beginning.length;
			const [source, start] = inBody < 0 ? [this.#beginning, at] : [this.#file, inBody % FILE_BYTES];
			parts.push(source.subarray(start, start + left));
		}
		return parts.length === 1 ? parts[0] : Buffer.concat(parts);
	}
}

/** Content that is known only as the program is told what to say. */
export class GrowingContent {
	#bytes = Buffer.alloc(0);

	get length() {
		return this.#bytes.length;
	}

	append(text) {
		this.#bytes = Buffer.concat([this.#bytes, Buffer.from(text)]);
	}

	slice(offset, length) {
		return this.#bytes.subarray(offset, offset + length);
	}
}
