import {isUtf8} from 'node:buffer';

/** Longest piece of a line that is told. */
export const MAX_TEXT_LENGTH = 1000;
/** How much of a long line is told before the match. */
const TEXT_BEFORE = 200;

export interface LineMatch {
	/** From 1. */
	readonly line: number;
	/** In characters, from 1. */
	readonly column: number;
	/** Of the match in the file. */
	readonly byteOffset: number;
	/** The line, or the part of a long one around the match. */
	readonly text: string;
}

/** Looks through the lines of one file, piece by piece. A piece holds whole lines. */
export class LineSearch {
	readonly #expression: RegExp;
	#line = 1;
	#byteOffset = 0;

	constructor(expression: RegExp) {
		this.#expression = expression;
	}

	/** Each line that matches, once. */
	*in(piece: Buffer): Generator<LineMatch> {
		const encoding = isUtf8(piece) ? 'utf8' : 'latin1';
		const text = piece.toString(encoding);
		const from = {index: 0, line: this.#line, bytes: this.#byteOffset};
		for (const {index, start, end} of matchesByLine(this.#expression, text)) {
			from.line += countLines(text, from.index, start);
			from.bytes += Buffer.byteLength(text.slice(from.index, index), encoding);
			from.index = index;
			yield {
				line: from.line,
				column: index - start + 1,
				byteOffset: from.bytes,
				text: excerpt(text.slice(start, end), index - start),
			};
			// Counting goes on from here: nothing else of this line is told.
			from.bytes += Buffer.byteLength(text.slice(index, end), encoding);
			from.index = end;
		}
		this.#line = from.line + countLines(text, from.index, text.length);
		this.#byteOffset += piece.length;
	}
}

interface Found {
	readonly index: number;
	/** Of the line. */
	readonly start: number;
	readonly end: number;
}

function* matchesByLine(expression: RegExp, text: string): Generator<Found> {
	for (let at = 0; at <= text.length; ) {
		expression.lastIndex = at;
		const match = expression.exec(text);
		if (!match) return;
		// Nothing behind the last line break is a line.
		if (match.index === text.length && text.endsWith('\n')) return;
		const start = match.index === 0 ? 0 : text.lastIndexOf('\n', match.index - 1) + 1;
		const end = endOfLine(text, match.index);
		const index = match.index + match[0].length <= end ? match.index : matchWithin(expression, text, start, end);
		if (index !== undefined) yield {index, start, end};
		at = end + 1;
	}
}

/** What matched went beyond its line; within the line there may be another match. */
function matchWithin(expression: RegExp, text: string, start: number, end: number): number | undefined {
	expression.lastIndex = 0;
	const match = expression.exec(text.slice(start, end));
	return match ? start + match.index : undefined;
}

function endOfLine(text: string, index: number): number {
	const end = text.indexOf('\n', index);
	return end === -1 ? text.length : end;
}

function countLines(text: string, from: number, to: number): number {
	let count = 0;
	for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++;
	return count;
}

function excerpt(line: string, index: number): string {
	const text = line.endsWith('\r') ? line.slice(0, -1) : line;
	if (text.length <= MAX_TEXT_LENGTH) return text;
	const start = Math.max(0, Math.min(index - TEXT_BEFORE, text.length - MAX_TEXT_LENGTH));
	return text.slice(start, start + MAX_TEXT_LENGTH);
}
