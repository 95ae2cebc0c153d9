import type {OutputStream} from '../../client/process/process-handle.js';
import {printable} from './printable.js';

const LINE_FEED = 0x0a;
const RETURN = 0x0d;
/** A longer line is written in pieces, each with the prefix. */
const MAX_LINE_BYTES = 1024 * 1024;

interface OpenLine {
	/** Of its first byte. */
	readonly prefix: string;
	pieces: Uint8Array[];
	bytes: number;
}

/** Output as lines with a text in front, that of their first byte; each stream has lines of its own. */
export class PrefixedLines {
	readonly #isForTerminal: boolean;
	readonly #open = new Map<OutputStream, OpenLine>();

	/** On a terminal control characters are written out. */
	constructor({isForTerminal}: {readonly isForTerminal: boolean}) {
		this.#isForTerminal = isForTerminal;
	}

	/** The lines that are complete now. */
	add(stream: OutputStream, prefix: string, bytes: Uint8Array): Uint8Array {
		const lines: Uint8Array[] = [];
		for (let from = 0; from < bytes.length; ) {
			const end = bytes.indexOf(LINE_FEED, from);
			const piece = bytes.subarray(from, end === -1 ? bytes.length : end);
			from += piece.length + 1;
			const line = this.#open.get(stream) ?? {prefix, pieces: [], bytes: 0};
			line.pieces.push(piece);
			line.bytes += piece.length;
			if (end === -1 && line.bytes < MAX_LINE_BYTES) {
				this.#open.set(stream, line);
				continue;
			}
			this.#open.delete(stream);
			lines.push(this.#format(line));
		}
		return Buffer.concat(lines);
	}

	/** Lines that have not ended. */
	finish(): [OutputStream, Uint8Array][] {
		const rest = [...this.#open].map(([stream, line]): [OutputStream, Uint8Array] => [stream, this.#format(line)]);
		this.#open.clear();
		return rest;
	}

	#format({prefix, pieces}: OpenLine): Uint8Array {
		const content = Buffer.concat(pieces);
		const text = content.at(-1) === RETURN ? content.subarray(0, -1) : content;
		const shown = this.#isForTerminal ? printable(text.toString()) : text;
		return Buffer.concat([Buffer.from(prefix), Buffer.from(shown as Buffer), Buffer.from('\n')]);
	}
}
