import {HttpParseError, MAX_RESPONSE_HEAD_BYTES, parseField} from './response-head.js';

/** Longest line with the size of a chunk and its extensions. */
const MAX_SIZE_LINE_BYTES = 4 * 1024;
/** Bytes of extensions in one body. */
const MAX_EXTENSION_BYTES = 16 * 1024;
/** Chunks up to this size are moved together, so that many small ones become one piece. */
const MAX_MOVED_BYTES = 4 * 1024;
/** Most digits of a size that a number holds exactly. */
const MAX_SIZE_DIGITS = 13;

const SIZE_LINE = /^([0-9A-Fa-f]+)((?:;.*)?)$/s;
/** Each a token, a token with a value, or a token with a quoted value. */
const EXTENSIONS = /^(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[^"\\]|\\.)*"))?)*$/;
/** Control characters, carriage returns among them. */
const CONTROL = /[^\t\x20-\x7e\x80-\xff]/;
const CR = 13;
const LF = 10;

type State = 'size' | 'data' | 'data-end' | 'trailer' | 'done';

/** Takes the chunks of a body out of their framing. Works in the memory it is given. */
export class ChunkedBody {
	#state: State = 'size';
	/** Bytes of the present chunk that are still to come. */
	#remaining = 0;
	/** Beginning of a line that is not complete. */
	#line = '';
	#extensionBytes = 0;
	#trailerBytes = 0;

	get isDone(): boolean {
		return this.#state === 'done';
	}

	/** Hands over the bodies of chunks in `bytes` from `start` on; returns where the body or the bytes end. */
	push(bytes: Buffer, start: number, deliver: (piece: Buffer) => void): number {
		let offset = start;
		// Bytes found but not handed over yet.
		let from = start;
		let to = start;
		const flush = (): void => {
			if (to > from) deliver(bytes.subarray(from, to));
			from = to;
		};
		try {
			while (offset < bytes.length && this.#state !== 'done') {
				if (this.#state !== 'data') {
					offset = this.#readLine(bytes, offset);
					continue;
				}
				const end = Math.min(offset + this.#remaining, bytes.length);
				this.#remaining -= end - offset;
				if (this.#remaining === 0) this.#state = 'data-end';
				if (to > from && end - offset <= MAX_MOVED_BYTES) {
					bytes.copyWithin(to, offset, end);
					to += end - offset;
				} else {
					flush();
					from = offset;
					to = end;
				}
				offset = end;
			}
		} finally {
			// Also before an error: bytes that came count.
			flush();
		}
		return offset;
	}

	#readLine(bytes: Buffer, start: number): number {
		if (this.#state === 'data-end' && bytes[start] === CR && bytes[start + 1] === LF && this.#line === '') {
			this.#state = 'size';
			return start + 2;
		}
		const lineEnd = bytes.indexOf(LF, start);
		const end = lineEnd === -1 ? bytes.length : lineEnd + 1;
		const maxBytes = this.#state === 'trailer' ? MAX_RESPONSE_HEAD_BYTES : MAX_SIZE_LINE_BYTES;
		if (this.#line.length + end - start > maxBytes) throw new HttpParseError('Chunk line overflow');
		this.#line += bytes.toString('latin1', start, end);
		if (lineEnd === -1) {
			this.#checkPartialLine();
			return end;
		}
		if (this.#line.charCodeAt(this.#line.length - 2) !== CR) throw new HttpParseError('Missing expected CR');
		const line = this.#line.slice(0, -2);
		this.#line = '';
		this.#takeLine(line);
		return end;
	}

	#takeLine(line: string): void {
		if (this.#state === 'size') this.#takeSize(line);
		else if (this.#state === 'trailer') this.#takeTrailer(line);
		else if (line === '') this.#state = 'size';
		else throw new HttpParseError('Expected LF after chunk data');
	}

	#takeSize(line: string): void {
		const [, digits, extensions] = SIZE_LINE.exec(line) ?? throwInvalidSize();
		if (extensions !== '') this.#checkExtensions(extensions!);
		const significant = digits!.replace(/^0+/, '');
		if (significant.length > MAX_SIZE_DIGITS) throw new HttpParseError('Chunk size overflow');
		this.#remaining = Number.parseInt(significant || '0', 16);
		this.#state = this.#remaining === 0 ? 'trailer' : 'data';
	}

	#checkExtensions(text: string): void {
		if (CONTROL.test(text) || !EXTENSIONS.test(text)) {
			throw new HttpParseError('Invalid character in chunk extensions');
		}
		this.#extensionBytes += text.length;
		if (this.#extensionBytes > MAX_EXTENSION_BYTES) throw new HttpParseError('Chunk extensions overflow');
	}

	/** Trailers are checked and left out. */
	#takeTrailer(line: string): void {
		if (line === '') {
			this.#state = 'done';
			return;
		}
		this.#trailerBytes += line.length;
		if (this.#trailerBytes > MAX_RESPONSE_HEAD_BYTES) throw new HttpParseError('Header overflow');
		if (CONTROL.test(line)) throw new HttpParseError('Invalid header value char');
		parseField(line);
	}

	/** Nothing is waited for behind the first wrong character of a size or of the end of a chunk. */
	#checkPartialLine(): void {
		if (this.#state === 'size' && !/^[0-9A-Fa-f]/.test(this.#line)) throwInvalidSize();
		if (this.#state === 'data-end' && this.#line !== '\r') throw new HttpParseError('Expected LF after chunk data');
	}
}

function throwInvalidSize(): never {
	throw new HttpParseError('Invalid character in chunk size');
}
