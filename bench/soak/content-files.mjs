import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {scratchFolder} from '../../scripts/lib/scratch-folder.mjs';
import {RepeatedContent} from '../lib/content.mjs';

/** Bytes of a file of content; a longer content begins again. */
export const FILE_BYTES = 4 * 1024 * 1024;
export const CELL_BYTES = 16;

/** Kinds of content: cells that hold their own index, so that no byte can be lost, doubled or moved unnoticed. */
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

/** The files that programs print, and the same bytes for comparison. */
export class ContentFiles {
	#directory = scratchFolder('soak');
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

	/** Endless content of this kind, behind a beginning of its own. */
	content(kind, beginning = '') {
		return new RepeatedContent(this.#bytes[kind], Buffer.from(beginning));
	}
}

/** Content that is known only as the program is told what to print. */
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
