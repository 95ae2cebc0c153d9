import {isUtf8} from 'node:buffer';

/** Longest excerpt of a line. */
export const MAX_TEXT_LENGTH = 1000;
/** Characters of a long line before the match. */
const CONTEXT_LENGTH = 200;

export interface LineMatch {
	/** From 1. */
	readonly line: number;
	/** In characters, from 1. */
	readonly column: number;
	/** Offset of the match in the file. */
	readonly byteOffset: number;
	/** The line, or the part of a long one around the match. */
	readonly text: string;
}

/** Incremental search in the lines of one file. A piece holds whole lines. */
export class LineSearch {
	readonly #expression: RegExp;
	#line = 1;
	#byteOffset = 0;

	constructor(expression: RegExp) {
		this.#expression = expression;
	}

	/** First match of each line. */
	*search(piece: Buffer): Generator<LineMatch> {
		const encoding = isUtf8(piece) ? 'utf8' : 'latin1';
		const text = piece.toString(encoding);
		const from = {index: 0, line: this.#line, bytes: this.#byteOffset};
		for (const {index, start, end} of findMatchesByLine(this.#expression, text)) {
			from.line += countLines(text, from.index, start);
			from.bytes += Buffer.byteLength(text.slice(from.index, index), encoding);
			from.index = index;
			yield {
				line: from.line,
				column: index - start + 1,
				byteOffset: from.bytes,
				text: cutExcerpt(text.slice(start, end), index - start),
			};
			// Skips the rest of the line: one match per line is reported.
			from.bytes += Buffer.byteLength(text.slice(index, end), encoding);
			from.index = end;
		}
		this.#line = from.line + countLines(text, from.index, text.length);
		this.#byteOffset += piece.length;
	}
}

interface MatchPosition {
	readonly index: number;
	/** Offset of the line. */
	readonly start: number;
	readonly end: number;
}

function* findMatchesByLine(expression: RegExp, text: string): Generator<MatchPosition> {
	for (let at = 0; at <= text.length; ) {
		expression.lastIndex = at;
		const match = expression.exec(text);
		if (!match) return;
		// There is no line after the last line break.
		if (match.index === text.length && text.endsWith('\n')) return;
		const start = match.index === 0 ? 0 : text.lastIndexOf('\n', match.index - 1) + 1;
		const end = findLineEnd(text, match.index);
		const index = match.index + match[0].length <= end ? match.index : findMatchWithin(expression, text, start, end);
		if (index !== undefined) yield {index, start, end};
		at = end + 1;
	}
}

/** Repeats the search within one line, for a match that crossed the end of the line. */
function findMatchWithin(expression: RegExp, text: string, start: number, end: number): number | undefined {
	expression.lastIndex = 0;
	const match = expression.exec(text.slice(start, end));
	return match ? start + match.index : undefined;
}

function findLineEnd(text: string, index: number): number {
	const end = text.indexOf('\n', index);
	return end === -1 ? text.length : end;
}

function countLines(text: string, from: number, to: number): number {
	let count = 0;
	for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++;
	return count;
}

function cutExcerpt(line: string, index: number): string {
	const text = line.endsWith('\r') ? line.slice(0, -1) : line;
	if (text.length <= MAX_TEXT_LENGTH) return text;
	const start = Math.max(0, Math.min(index - CONTEXT_LENGTH, text.length - MAX_TEXT_LENGTH));
	return text.slice(start, start + MAX_TEXT_LENGTH);
}
