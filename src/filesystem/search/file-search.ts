import {closeSync, constants, fstatSync, openSync, readSync} from 'node:fs';
import {type BytePath, toFsPath} from '../byte-path.js';
import {refuseOwnEntry} from '../own-process.js';
import {type LineMatch, LineSearch} from './line-search.js';

const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;
const PIECE_BYTES = 1024 * 1024;
/** A longer line is searched in parts. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** A NUL among the first bytes marks a binary file. */
const BINARY_PROBE_BYTES = 8 * 1024;
const LINE_BREAK = 0x0a;

/** Matching lines of a text file; none of a binary file. */
export function* searchFile(path: BytePath, expression: RegExp): Generator<LineMatch> {
	const search = new LineSearch(expression);
	let isFirst = true;
	for (const piece of readPieces(path)) {
		if (isFirst && piece.subarray(0, BINARY_PROBE_BYTES).includes(0)) return;
		isFirst = false;
		yield* search.search(piece);
	}
}

/** Content in pieces of whole lines; each is valid until the next is requested. */
function* readPieces(path: BytePath): Generator<Buffer> {
	const fd = openSync(toFsPath(path), READ);
	try {
		const stats = fstatSync(fd);
		refuseOwnEntry(fd, stats);
		if (!stats.isFile()) return;
		let buffer = Buffer.allocUnsafe(PIECE_BYTES);
		for (let buffered = 0; ; ) {
			const got = readSync(fd, buffer, buffered, buffer.length - buffered, null);
			const length = buffered + got;
			const end = got === 0 ? length : buffer.subarray(0, length).lastIndexOf(LINE_BREAK) + 1;
			const isTooLong = end === 0 && length >= MAX_LINE_BYTES;
			const whole = isTooLong ? length : end;
			if (whole > 0) yield buffer.subarray(0, whole);
			if (got === 0) return;
			buffer.copyWithin(0, whole, length);
			buffered = length - whole;
			if (buffered === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
		}
	} finally {
		closeSync(fd);
	}
}
