/** Place in the output of a process: behind so many bytes of an event. */
export interface OutputPosition {
	readonly seq: number;
	readonly offset: number;
}

interface Piece {
	readonly seq: number;
	/** Bytes of the event in front of the piece. */
	readonly offset: number;
	readonly bytes: Uint8Array;
	/** Last bytes in front of it, which may begin its first character. */
	readonly before: Uint8Array;
	/** Characters that were complete with its bytes. */
	readonly characters: number;
}

/** Bytes of a character that may be in an earlier piece. */
const MAX_PENDING_BYTES = 3;
/** Characters that few bytes can complete at once, those of an invalid sequence included. */
const MAX_COMPLETED_CHARACTERS = 4;

/** The latest output as text; knows which byte each character ends with. */
export class OutputWindow {
	readonly #maxCharacters: number;
	#decoder = createDecoder();
	#pieces: Piece[] = [];
	#text = '';
	/** Characters of the pieces that are no longer in the text. */
	#cut = 0;
	#isCut = false;

	constructor(maxCharacters: number) {
		this.#maxCharacters = maxCharacters;
	}

	get text(): string {
		return this.#text;
	}

	/** Output in front of the text is missing. */
	get isCut(): boolean {
		return this.#isCut;
	}

	push(bytes: Uint8Array, {seq, offset}: OutputPosition): void {
		const decoded = this.#decoder.decode(bytes, {stream: true});
		const last = this.#pieces.at(-1);
		const before = last ? lastBytes(last) : new Uint8Array(0);
		this.#pieces.push({seq, offset, bytes, before, characters: decoded.length});
		this.#text += decoded;
		this.#trim();
	}

	/** Output is missing: what follows does not belong to what came before. */
	clear(): void {
		this.#decoder = createDecoder();
		this.#pieces = [];
		this.#text = '';
		this.#cut = 0;
		this.#isCut = true;
	}

	/** The place behind the first `length` characters of the text. */
	positionAfter(length: number): OutputPosition {
		let left = this.#cut + length;
		for (const piece of this.#pieces) {
			if (left <= piece.characters) return {seq: piece.seq, offset: piece.offset + countBytes(piece, left)};
			left -= piece.characters;
		}
		throw new RangeError(`the window has less than ${length} characters`);
	}

	#trim(): void {
		const excess = this.#text.length - this.#maxCharacters;
		if (excess <= 0) return;
		this.#text = this.#text.slice(excess);
		this.#cut += excess;
		this.#isCut = true;
		for (let first = this.#pieces[0]; first && first.characters < this.#cut; first = this.#pieces[0]) {
			this.#pieces.shift();
			this.#cut -= first.characters;
		}
	}
}

/** Bytes of a piece up to the end of its character of this number. */
function countBytes({bytes, before}: Piece, characters: number): number {
	const decoder = createDecoder();
	decoder.decode(before, {stream: true});
	let [count, done] = [0, 0];
	while (done < characters && count < bytes.length) {
		// A byte completes one character at most, except at the end of an invalid sequence.
		const step = Math.max(1, characters - done - MAX_COMPLETED_CHARACTERS);
		done += decoder.decode(bytes.subarray(count, count + step), {stream: true}).length;
		count += step;
	}
	// A byte that ended an invalid sequence is the next character by itself.
	return done > characters ? count - 1 : count;
}

function lastBytes({before, bytes}: Piece): Uint8Array {
	if (bytes.length >= MAX_PENDING_BYTES) return bytes.subarray(-MAX_PENDING_BYTES);
	return Uint8Array.from([...before, ...bytes].slice(-MAX_PENDING_BYTES));
}

/** Keeps a byte order mark: it counts as a character wherever it is. */
function createDecoder() {
	return new TextDecoder('utf-8', {ignoreBOM: true});
}
