/** Size of one event with its unfinished line; a response with all its items fits in. */
export const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;

/** An event exceeds `MAX_EVENT_CHARACTERS`. */
export class EventTooLargeError extends Error {
	override readonly name = 'EventTooLargeError';

	constructor() {
		super(`an event of the stream exceeds ${MAX_EVENT_CHARACTERS} characters`);
	}
}

/**
 * Server-sent events from chunks that are cut anywhere. Only `data` matters: names and ids of events and comments are
 * skipped, since every event names its type inside the JSON.
 */
export class SseParser {
	readonly #decoder = new TextDecoder();
	readonly #maxCharacters: number;
	/** Pieces of the unfinished line: joined once, so that a long line in small chunks costs no more than its length. */
	#pieces: string[] = [];
	#data: string[] = [];
	/** Sizes of both, an end of line counted for each entry. */
	#lineSize = 0;
	#dataSize = 0;
	/** A carriage return has ended the line; a line feed right behind it belongs to the same end. */
	#skipsLineFeed = false;

	constructor(maxCharacters = MAX_EVENT_CHARACTERS) {
		this.#maxCharacters = maxCharacters;
	}

	/** Data of the events that this chunk finishes. Throws an `EventTooLargeError`. */
	push(chunk: Uint8Array): string[] {
		return this.#take(this.#decoder.decode(chunk, {stream: true}));
	}

	/** Data of an event whose blank line is missing at the end of the stream, if there is one. */
	end(): string[] {
		return this.#take(`${this.#decoder.decode()}\n\n`);
	}

	#take(text: string): string[] {
		const events: string[] = [];
		let from = 0;
		for (const match of text.matchAll(/[\r\n]/g)) {
			const isSecondHalf = match[0] === '\n' && match.index === from && this.#skipsLineFeed;
			this.#skipsLineFeed = match[0] === '\r';
			if (!isSecondHalf) this.#endLine(text.slice(from, match.index), events);
			from = match.index + 1;
		}
		if (from < text.length) {
			this.#skipsLineFeed = false;
			this.#keep(text.slice(from));
		}
		return events;
	}

	#endLine(end: string, events: string[]): void {
		this.#keep(end);
		const line = this.#pieces.join('');
		this.#pieces = [];
		this.#lineSize = 0;
		if (line === '') {
			if (this.#data.length > 0) events.push(this.#data.join('\n'));
			this.#data = [];
			this.#dataSize = 0;
			return;
		}
		const match = /^data(?:: ?|$)/.exec(line);
		if (!match) return;
		this.#data.push(line.slice(match[0].length));
		this.#dataSize += line.length + 1;
	}

	#keep(piece: string): void {
		this.#lineSize += piece.length + 1;
		if (this.#lineSize + this.#dataSize > this.#maxCharacters) throw new EventTooLargeError();
		this.#pieces.push(piece);
	}
}
