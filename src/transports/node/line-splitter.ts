const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Cuts a stream of bytes into lines without their terminators. Holds at most one unfinished line of `maxBytes`. */
export class LineSplitter {
	readonly #maxBytes: number;
	#parts: Buffer[] = [];
	#length = 0;
	#overflowed = false;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	/** A line was longer than allowed; nothing more is returned. */
	get overflowed(): boolean {
		return this.#overflowed;
	}

	push(data: Buffer): Buffer[] {
		const lines: Buffer[] = [];
		let start = 0;
		while (!this.#overflowed) {
			const end = data.indexOf(NEWLINE, start);
			this.#keep(data.subarray(start, end < 0 ? data.length : end));
			if (end < 0) break;
			if (!this.#overflowed) lines.push(this.#take());
			start = end + 1;
		}
		return lines;
	}

	#keep(part: Buffer): void {
		this.#length += part.length;
		this.#overflowed = this.#length > this.#maxBytes;
		if (this.#overflowed) this.#parts = [];
		else if (part.length > 0) this.#parts.push(part);
	}

	#take(): Buffer {
		const line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts, this.#length);
		this.#parts = [];
		this.#length = 0;
		return line.at(-1) === RETURN ? line.subarray(0, -1) : line;
	}
}
