import {UneditableError} from './text-edit.js';

/** Nesting beyond which a file is refused. */
const MAX_DEPTH = 200;
const BYTE_ORDER_MARK = '\uFEFF';
const NUMBER_OR_WORD = /[-+.\w]+/y;

/** A value of a JSON text with its place in it. */
export interface JsonNode {
	readonly start: number;
	/** Behind its last character. */
	readonly end: number;
	readonly value: unknown;
	/** Of an object, in order. */
	readonly members?: readonly JsonMember[];
}

export interface JsonMember {
	readonly key: string;
	/** Of the key, with its quote. */
	readonly start: number;
	readonly node: JsonNode;
}

export interface JsonOptions {
	/** Whether comments and commas behind the last entry are allowed. */
	readonly hasComments: boolean;
}

/** Parses a JSON text with places; undefined for one that is empty but for blanks. Throws an `UneditableError`. */
export function parseJsonNodes(text: string, options: JsonOptions): JsonNode | undefined {
	return new NodeReader(text, options).readDocument();
}

class NodeReader {
	readonly #text: string;
	readonly #hasComments: boolean;
	#at = 0;
	#depth = 0;

	constructor(text: string, {hasComments}: JsonOptions) {
		this.#text = text;
		this.#hasComments = hasComments;
	}

	readDocument(): JsonNode | undefined {
		if (this.#text.startsWith(BYTE_ORDER_MARK)) this.#at++;
		this.#skipBlanks();
		if (this.#at === this.#text.length) return undefined;
		const node = this.#readValue();
		this.#skipBlanks();
		if (this.#at < this.#text.length) this.#fail('more text than one value');
		return node;
	}

	#readValue(): JsonNode {
		if (++this.#depth > MAX_DEPTH) this.#fail('too many levels');
		const char = this.#text[this.#at];
		const node =
			char === '{'
				? this.#readObject()
				: char === '['
					? this.#readArray()
					: char === '"'
						? this.#readString()
						: this.#readWord();
		this.#depth--;
		return node;
	}

	#readObject(): JsonNode {
		const start = this.#at;
		const members: JsonMember[] = [];
		this.#readEntries('}', () => {
			const key = this.#readString();
			this.#skipBlanks();
			this.#expect(':');
			this.#skipBlanks();
			members.push({key: key.value as string, start: key.start, node: this.#readValue()});
		});
		const value = Object.fromEntries(members.map(({key, node}) => [key, node.value]));
		if (Object.keys(value).length < members.length) this.#fail('a name that is there twice in the object that ends');
		return {start, end: this.#at, value, members};
	}

	#readArray(): JsonNode {
		const start = this.#at;
		const value: unknown[] = [];
		this.#readEntries(']', () => value.push(this.#readValue().value));
		return {start, end: this.#at, value};
	}

	/** Entries with commas between them, from the opening bracket to behind the closing one. */
	#readEntries(close: string, readEntry: () => void): void {
		this.#at++;
		this.#skipBlanks();
		for (let isFirst = true; this.#text[this.#at] !== close; isFirst = false) {
			if (!isFirst) {
				this.#expect(',');
				this.#skipBlanks();
				if (this.#hasComments && this.#text[this.#at] === close) break;
			}
			readEntry();
			this.#skipBlanks();
		}
		this.#at++;
	}

	#readString(): JsonNode {
		const start = this.#at;
		this.#expect('"');
		while (this.#at < this.#text.length && this.#text[this.#at] !== '"')
			this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
		this.#expect('"');
		return this.#toNode(start);
	}

	#readWord(): JsonNode {
		const start = this.#at;
		NUMBER_OR_WORD.lastIndex = start;
		this.#at += NUMBER_OR_WORD.exec(this.#text)?.[0].length ?? 0;
		return this.#toNode(start);
	}

	/** Strings, numbers and words mean what they mean to the parser of the runtime. */
	#toNode(start: number): JsonNode {
		try {
			return {start, end: this.#at, value: JSON.parse(this.#text.slice(start, this.#at))};
		} catch {
			this.#at = start;
			return this.#fail('something that is no value');
		}
	}

	#skipBlanks(): void {
		for (;;) {
			while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '')) this.#at++;
			if (!this.#hasComments) return;
			if (this.#text.startsWith('//', this.#at)) {
				const end = this.#text.indexOf('\n', this.#at);
				this.#at = end < 0 ? this.#text.length : end;
			} else if (this.#text.startsWith('/*', this.#at)) {
				const end = this.#text.indexOf('*/', this.#at + 2);
				if (end < 0) this.#fail('a comment without an end');
				this.#at = end + 2;
			} else return;
		}
	}

	#expect(char: string): void {
		if (this.#text[this.#at] !== char) this.#fail(`no \`${char}\``);
		this.#at++;
	}

	/** Without the text itself, which may hold a secret. */
	#fail(what: string): never {
		const before = this.#text.slice(0, this.#at).split('\n');
		throw new UneditableError(`line ${before.length}, column ${before.at(-1)!.length + 1}: there is ${what}`);
	}
}
