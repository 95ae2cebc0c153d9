/** Longest message; a server that never ends its line is not one. */
export const MAX_LINE_CHARS = 64 * 1024 * 1024;

/** Splits chunks of UTF-8 into lines, wherever they are cut. */
export class JsonLines {
	readonly #decoder = new TextDecoder();
	readonly #line: (line: string) => void;
	#pieces: string[] = [];
	#length = 0;

	constructor(line: (line: string) => void) {
		this.#line = line;
	}

	/** Throws when a line becomes too long. */
	push(bytes: Uint8Array): void {
		let text = this.#decoder.decode(bytes, {stream: true});
		for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
			const line = this.#pieces.join('') + text.slice(0, end);
			this.#pieces = [];
			this.#length = 0;
			text = text.slice(end + 1);
			if (line.trim() !== '') this.#line(line);
		}
		this.#length += text.length;
		if (this.#length > MAX_LINE_CHARS) throw new Error(`a line exceeds ${MAX_LINE_CHARS} characters`);
		if (text !== '') this.#pieces.push(text);
	}
}
