/** The text is no JSON, or not what was expected; the message says where. Columns are counted in bytes. */
export class JsonReadError extends Error {
	override readonly name = 'JsonReadError';
}

/** A value with as much of it as its error messages need. */
export type JsonToken =
	| {readonly kind: 'string'; readonly value: string}
	| {readonly kind: 'integer' | 'float'; readonly value: number; readonly text: string}
	| {readonly kind: 'boolean'; readonly value: boolean}
	| {readonly kind: 'null'}
	| {readonly kind: 'sequence' | 'map'};

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const WORDS: Readonly<Record<string, JsonToken>> = {
	true: {kind: 'boolean', value: true},
	false: {kind: 'boolean', value: false},
	null: {kind: 'null'},
};
const ESCAPES = '"\\/bfnrtu';
const DEEPEST = 128;

/** Reads JSON from front to back and knows where it is: the peers' models are used to messages with a place in them. */
export class JsonReader {
	readonly #text: string;
	#at = 0;

	constructor(text: string) {
		this.#text = text;
	}

	/** Calls back behind each key, and in front of its value, which that callback has to consume. */
	readObject(value: (key: string) => void, seen: (key: string) => void = () => {}): void {
		this.#at++;
		for (let isFirst = true; ; isFirst = false) {
			const next = this.peek('an object');
			if (next === '}') break;
			if (!isFirst) this.#comma(next, '}');
			if (this.peek('an object') !== '"') throw this.failAhead('key must be a string');
			const key = this.#string();
			seen(key);
			this.#colon();
			value(key);
		}
		this.#at++;
	}

	/** The next character that is not white space. */
	peek(inside = 'a value'): string {
		while (/[ \t\n\r]/.test(this.#text[this.#at] ?? '')) this.#at++;
		const next = this.#text[this.#at];
		if (next === undefined) throw this.fail(`EOF while parsing ${inside}`);
		return next;
	}

	/** A value other than an object or a list; those are told apart and left where they are. */
	readScalar(): JsonToken {
		const next = this.peek();
		if (next === '"') return {kind: 'string', value: this.#string()};
		if (next === '{') return {kind: 'map'};
		if (next === '[') return {kind: 'sequence'};
		if (next === '-' || /\d/.test(next)) return this.#number();
		return this.#word(next);
	}

	/** Whatever comes. */
	skipValue(depth = 0): void {
		if (depth > DEEPEST) throw this.failAhead('recursion limit exceeded');
		const {kind} = this.readScalar();
		if (kind === 'map') this.readObject(() => this.skipValue(depth + 1));
		else if (kind === 'sequence') this.#skipList(depth);
	}

	end(): void {
		while (/[ \t\n\r]/.test(this.#text[this.#at] ?? '')) this.#at++;
		if (this.#at < this.#text.length) throw this.failAhead('trailing characters');
	}

	/** An error behind what was read. */
	fail(message: string): JsonReadError {
		const lines = this.#text.slice(0, this.#at).split('\n');
		const column = new TextEncoder().encode(lines.at(-1)).length;
		return new JsonReadError(`${message} at line ${lines.length} column ${column}`);
	}

	/** An error at the character that comes next. */
	failAhead(message: string): JsonReadError {
		this.#at = Math.min(this.#at + 1, this.#text.length);
		return this.fail(message);
	}

	#comma(next: string, closing: '}' | ']'): void {
		if (next !== ',') throw this.failAhead(`expected \`,\` or \`${closing}\``);
		this.#at++;
		if (this.peek(closing === '}' ? 'an object' : 'a value') === closing) throw this.failAhead('trailing comma');
	}

	#colon(): void {
		if (this.peek('an object') !== ':') throw this.failAhead('expected `:`');
		this.#at++;
	}

	#skipList(depth: number): void {
		this.#at++;
		for (let isFirst = true; ; isFirst = false) {
			const next = this.peek('a list');
			if (next === ']') break;
			if (!isFirst) this.#comma(next, ']');
			this.skipValue(depth + 1);
		}
		this.#at++;
	}

	#number(): JsonToken {
		NUMBER.lastIndex = this.#at;
		const match = NUMBER.exec(this.#text);
		if (!match) throw this.failAhead('invalid number');
		this.#at += match[0].length;
		if (/[\d.eE]/.test(this.#text[this.#at] ?? '')) throw this.failAhead('invalid number');
		const isFloat = match[1] !== undefined || match[2] !== undefined;
		return {kind: isFloat ? 'float' : 'integer', value: Number(match[0]), text: match[0]};
	}

	#word(first: string): JsonToken {
		const word = Object.keys(WORDS).find(candidate => candidate.startsWith(first));
		if (word === undefined) throw this.failAhead('expected value');
		for (const letter of word) {
			const found = this.#text[this.#at];
			if (found === undefined) throw this.fail('EOF while parsing a value');
			this.#at++;
			if (found !== letter) throw this.fail('expected ident');
		}
		return WORDS[word]!;
	}

	#string(): string {
		const start = this.#at++;
		for (;;) {
			const next = this.#text[this.#at++];
			if (next === undefined) {
				this.#at = this.#text.length;
				throw this.fail('EOF while parsing a string');
			}
			if (next === '"') break;
			if (next < ' ') throw this.fail('control character (\\u0000-\\u001F) found while parsing a string');
			if (next === '\\') this.#escape();
		}
		return JSON.parse(this.#text.slice(start, this.#at)) as string;
	}

	#escape(): void {
		const kind = this.#text[this.#at++];
		if (kind === undefined || !ESCAPES.includes(kind)) throw this.fail('invalid escape');
		if (kind !== 'u') return;
		if (!/^[\da-fA-F]{4}$/.test(this.#text.slice(this.#at, this.#at + 4))) throw this.fail('invalid escape');
		this.#at += 4;
	}
}
