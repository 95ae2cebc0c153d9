import {closeSync, constants, fstatSync, openSync, readSync} from 'node:fs';
import {type BytePath, toSystem} from '../byte-path.js';
import {type LineMatch, LineSearch} from './line-search.js';

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
const PIECE_BYTES = 1024 * 1024;
/** A line longer than this is searched in parts. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** A NUL among the first bytes means that a file is no text. */
const LOOK_FOR_NUL_BYTES = 8 * 1024;
const LINE_BREAK = 0x0a;

/** The lines of a text file that match; a file that is no text has none. */
export function* searchFile(path: BytePath, expression: RegExp): Generator<LineMatch> {
	const search = new LineSearch(expression);
	let isFirst = true;
	for (const piece of pieces(path)) {
		if (isFirst && piece.subarray(0, LOOK_FOR_NUL_BYTES).includes(0)) return;
		isFirst = false;
		yield* search.in(piece);
	}
}

/** The content in pieces of whole lines; each is valid until the next is asked for. */
function* pieces(path: BytePath): Generator<Buffer> {
	const fd = openSync(toSystem(path), READ);
	try {
		if (!fstatSync(fd).isFile()) return;
		let buffer = Buffer.allocUnsafe(PIECE_BYTES);
		for (let held = 0; ; ) {
			const got = readSync(fd, buffer, held, buffer.length - held, null);
			const length = held + got;
			const end = got === 0 ? length : buffer.subarray(0, length).lastIndexOf(LINE_BREAK) + 1;
			const isTooLong = end === 0 && length >= MAX_LINE_BYTES;
			const whole = isTooLong ? length : end;
			if (whole > 0) yield buffer.subarray(0, whole);
			if (got === 0) return;
			buffer.copyWithin(0, whole, length);
			held = length - whole;
			if (held === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
		}
	} finally {
		closeSync(fd);
	}
}
