import type {Files} from '../../../client/files/files.js';
import {dropCutEnd, dropCutStart, groupDigits} from '../answers/output-excerpt.js';

/** Bytes of a file that are read to find a line. */
const MAX_SCANNED_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Part of a file, from a line on or from a byte on. */
export interface FilePart {
	readonly firstLine: number;
	/** In place of a line. */
	readonly firstByte: number | undefined;
	/** Lines at most. */
	readonly count: number;
	readonly maxBytes: number;
	readonly signal: AbortSignal;
}

export interface FoundLines {
	/** As the file has it, with its line ends. */
	readonly text: string;
	readonly startByte: number;
	/** The byte behind it. */
	readonly endByte: number;
	/** Lines in the text; the last one may be a part. */
	readonly count: number;
	/** Whether nothing, further lines or the rest of the last line are behind it. */
	readonly behind: 'nothing' | 'lines' | 'restOfLine';
}

/** Lines of a file of any size, with memory for those lines only. A line is cut only where it is too long by itself. */
export async function readFilePart(files: Files, path: string, part: FilePart): Promise<FoundLines> {
	const {firstLine, firstByte = 0, count, maxBytes, signal} = part;
	const first = part.firstByte === undefined ? firstLine : 1;
	const kept: Uint8Array[] = [];
	let keptBytes = 0;
	let line = 1;
	let position = firstByte;
	let startByte = firstByte;
	let behind: FoundLines['behind'] = 'nothing';
	reading: for await (const chunk of files.readStream(path, {signal, offset: firstByte})) {
		if (line < first && position - firstByte > MAX_SCANNED_BYTES) {
			throw new Error(
				`line ${first} is behind the first ${groupDigits(MAX_SCANNED_BYTES)} bytes; give from, or use exec`,
			);
		}
		for (let at = 0; at < chunk.length; ) {
			if (line >= first + count || keptBytes >= maxBytes) {
				behind = 'lines';
				break reading;
			}
			const newline = chunk.indexOf(NEWLINE, at);
			const end = newline < 0 ? chunk.length : newline + 1;
			if (line < first) {
				startByte = position + (end - at);
			} else {
				const piece = chunk.subarray(at, Math.min(end, at + maxBytes - keptBytes));
				kept.push(new Uint8Array(piece));
				keptBytes += piece.length;
				if (piece.length < end - at) {
					behind = 'lines';
					break reading;
				}
			}
			if (newline >= 0) line++;
			position += end - at;
			at = end;
		}
	}
	const bytes: Uint8Array = Buffer.concat(kept);
	const whole = part.firstByte === undefined ? bytes : dropCutStart(bytes);
	return toFound(whole, startByte + bytes.length - whole.length, behind);
}

function toFound(bytes: Uint8Array, startByte: number, behind: FoundLines['behind']): FoundLines {
	const lineEnd = bytes.lastIndexOf(NEWLINE) + 1;
	const isCutInLine = behind === 'lines' && lineEnd < bytes.length;
	const shown = !isCutInLine ? bytes : lineEnd > 0 ? bytes.subarray(0, lineEnd) : dropCutEnd(bytes);
	const text = new TextDecoder('utf-8', {ignoreBOM: true}).decode(shown);
	const newlines = text.split('\n').length - 1;
	return {
		text,
		startByte,
		endByte: startByte + shown.length,
		count: newlines + (text === '' || text.endsWith('\n') ? 0 : 1),
		behind: isCutInLine && lineEnd === 0 ? 'restOfLine' : behind,
	};
}
