const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const WORDS: Readonly<Record<string, JsonToken>> = {
	true: {kind: 'boolean', value: true},
	false: {kind: 'boolean', value: false},
	null: {kind: 'null'},
};
const ESCAPES = '"\\/bfnrtu';
const MAX_DEPTH = 128; /** Syntax or type error; the message names line and column. Columns are counted in bytes. */
export class JsonReadError extends Error {
	override readonly name = 'JsonReadError';
}

/** Scalar value, with the text that error messages need; of objects and lists only the kind. */
export type JsonToken =
	| {readonly kind: 'string'; readonly value: string}
	| {readonly kind: 'integer' | 'float'; readonly value: number; readonly text: string}
	| {readonly kind: 'boolean'; readonly value: boolean}
	| {readonly kind: 'null'}
	| {readonly kind: 'sequence' | 'map'};

/** JSON pull parser with upstream's error messages, which name a position: models are trained on them. */
export class JsonReader {
	readonly #text: string;
	#at = 0;

	constructor(text: string) {
		this.#text = text;
	}

	/** Calls `onKey` after each key and `readValue` before its value, which that callback has to consume. */
	readObject(readValue: (key: string) => void, onKey: (key: string) => void = () => {}): void {
		this.#at++;
		for (let isFirst = true; ; isFirst = false) {
			const next = this.peek('an object');
			if (next === '}') break;
			if (!isFirst) this.#expectComma(next, '}');
			if (this.peek('an object') !== '"') throw this.errorAhead('key must be a string');
			const key = this.#readString();
			onKey(key);
			this.#expectColon();
			readValue(key);
		}
		this.#at++;
	}

	/** Next character that is not white space, without consuming it. */
	peek(inside = 'a value'): string {
		while (/[ \t\n\r]/.test(this.#text[this.#at] ?? '')) this.#at++;
		const next = this.#text[this.#at];
		if (next === undefined) throw this.errorHere(`EOF while parsing ${inside}`);
		return next;
	}

	/** Reads a scalar; of an object or a list it returns the kind and consumes nothing. */
	readScalar(): JsonToken {
		const next = this.peek();
		if (next === '"') return {kind: 'string', value: this.#readString()};
		if (next === '{') return {kind: 'map'};
		if (next === '[') return {kind: 'sequence'};
		if (next === '-' || /\d/.test(next)) return this.#readNumber();
		return this.#readWord(next);
	}

	/** Reads any value. */
	readValue(): unknown {
		this.peek();
		const start = this.#at;
		this.skipValue();
		return JSON.parse(this.#text.slice(start, this.#at));
	}

	/** Consumes any value. */
	skipValue(depth = 0): void {
		if (depth > MAX_DEPTH) throw this.errorAhead('recursion limit exceeded');
		const {kind} = this.readScalar();
		if (kind === 'map') this.readObject(() => this.skipValue(depth + 1));
		else if (kind === 'sequence') this.#skipList(depth);
	}

	expectEnd(): void {
		while (/[ \t\n\r]/.test(this.#text[this.#at] ?? '')) this.#at++;
		if (this.#at < this.#text.length) throw this.errorAhead('trailing characters');
	}

	/** Error at the last character that was read. */
	errorHere(message: string): JsonReadError {
		const lines = this.#text.slice(0, this.#at).split('\n');
		const column = new TextEncoder().encode(lines.at(-1)).length;
		return new JsonReadError(`${message} at line ${lines.length} column ${column}`);
	}

	/** Error at the next character. */
	errorAhead(message: string): JsonReadError {
		this.#at = Math.min(this.#at + 1, this.#text.length);
		return this.errorHere(message);
	}

	#expectComma(next: string, closing: '}' | ']'): void {
		if (next !== ',') throw this.errorAhead(`expected \`,\` or \`${closing}\``);
		this.#at++;
		if (this.peek(closing === '}' ? 'an object' : 'a value') === closing) throw this.errorAhead('trailing comma');
	}

	#expectColon(): void {
		if (this.peek('an object') !== ':') throw this.errorAhead('expected `:`');
		this.#at++;
	}

	#skipList(depth: number): void {
		this.#at++;
		for (let isFirst = true; ; isFirst = false) {
			const next = this.peek('a list');
			if (next === ']') break;
			if (!isFirst) this.#expectComma(next, ']');
			this.skipValue(depth + 1);
		}
		this.#at++;
	}

	#readNumber(): JsonToken {
		NUMBER.lastIndex = this.#at;
		const match = NUMBER.exec(this.#text);
		if (!match) throw this.errorAhead('invalid number');
		this.#at += match[0].length;
		if (/[\d.eE]/.test(this.#text[this.#at] ?? '')) throw this.errorAhead('invalid number');
		const isFloat = match[1] !== undefined || match[2] !== undefined;
		return {kind: isFloat ? 'float' : 'integer', value: Number(match[0]), text: match[0]};
	}

	#readWord(first: string): JsonToken {
		const word = Object.keys(WORDS).find(candidate => candidate.startsWith(first));
		if (word === undefined) throw this.errorAhead('expected value');
		for (const letter of word) {
			const found = this.#text[this.#at];
			if (found === undefined) throw this.errorHere('EOF while parsing a value');
			this.#at++;
			if (found !== letter) throw this.errorHere('expected ident');
		}
		return WORDS[word]!;
	}

	#readString(): string {
		const start = this.#at++;
		for (;;) {
			const next = this.#text[this.#at++];
			if (next === undefined) {
				this.#at = this.#text.length;
				throw this.errorHere('EOF while parsing a string');
			}
			if (next === '"') break;
			if (next < ' ') throw this.errorHere('control character (\\u0000-\\u001F) found while parsing a string');
			if (next === '\\') this.#skipEscape();
		}
		return JSON.parse(this.#text.slice(start, this.#at)) as string;
	}

	#skipEscape(): void {
		const kind = this.#text[this.#at++];
		if (kind === undefined || !ESCAPES.includes(kind)) throw this.errorHere('invalid escape');
		if (kind !== 'u') return;
		if (!/^[\da-fA-F]{4}$/.test(this.#text.slice(this.#at, this.#at + 4))) throw this.errorHere('invalid escape');
		this.#at += 4;
	}
}
