import {errorMessage} from '../../shared/errors.js';

/** Values (scalars, arrays and objects count one each, keys none) one message may hold. */
export const MAX_JSON_VALUES = 262_144;

/** Nesting depth of containers, the outermost included. */
export const MAX_JSON_DEPTH = 127;

/** Characters quoted from the peer's text in an error message. */
export const MAX_JSON_ERROR_CHARS = 200;

/** Length from which a key is long. V8 hashes such keys by their length alone: all of one length collide. */
export const MIN_LONG_JSON_KEY_CHARS = 16_384;

/** Long keys one message may hold; 4,000 of one length would keep `JSON.parse` busy for 25 s. */
export const MAX_LONG_JSON_KEYS = 16;

/** Longest text that is checked by writing its value again: a longer one may be nested too deep. */
const MAX_ROUND_TRIP_CHARS = 2 * MAX_JSON_DEPTH;

/** Keys of one object that are kept in a list; beyond it a set is faster. */
const MAX_LISTED_KEYS = 8;

/** Characters of a string that are scanned one by one; beyond it the native search is faster. */
const MAX_SHORT_RUN_CHARS = 64;

const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LETTER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The text is not JSON, or JSON that the protocol refuses. The message is fit to be sent to the peer. */
export class StrictJsonError extends Error {
	override readonly name = 'StrictJsonError';
}

export interface StrictJson {
	readonly value: unknown;
	/** The raw text of the member `id` of a top-level object, if that is a number: it may exceed 2^53. */
	readonly idText: string | undefined;
}

/**
 * Parses one message. Beyond what `JSON.parse` refuses, refuses an object with the same key twice (`"a"` and
 * `"\u0061"` are the same), a `\u` escape that is half a surrogate pair, and whatever exceeds the bounds above.
 * Takes time and memory linear in the length of the text, hostile texts included.
 */
export function parseStrictJson(text: string): StrictJson {
	return parseByRoundTrip(text) ?? parseByScan(text);
}

/**
 * Parses a short text whose value, written again, is the same text: no key was dropped as a duplicate and no number was
 * rounded. Undefined for every other text. Native code all the way, so that a server's first requests cost no more than
 * later ones, which the scan does.
 */
export function parseByRoundTrip(text: string): StrictJson | undefined {
	// Half a surrogate pair is written as the same escape; it is for the scan to refuse.
	if (text.length > MAX_ROUND_TRIP_CHARS || text.includes('\\ud')) return undefined;
	let value: unknown;
	try {
		value = JSON.parse(text) as unknown;
	} catch {
		return undefined;
	}
	if (JSON.stringify(value) !== text) return undefined;
	const id = typeof value === 'object' && value !== null ? (value as {id?: unknown}).id : undefined;
	return {value, idText: typeof id === 'number' ? String(id) : undefined};
}

/** Parses any text. */
export function parseByScan(text: string): StrictJson {
	// The bounds come first: JSON.parse would build 16 million nested arrays, in ten seconds and a gigabyte.
	const {isComplete, idText} = scanJson(text);
	const value = parseJson(text);
	if (!isComplete) throw new StrictJsonError('malformed JSON');
	return {value, idText};
}

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text) as unknown;
	} catch (error) {
		throw new StrictJsonError(truncateText(errorMessage(error), MAX_JSON_ERROR_CHARS));
	}
}

/**
 * Scans the structure of a text in one pass. The content of scalars is left to `JSON.parse`. A scan that meets a syntax
 * error is incomplete; it stops at a position that `JSON.parse` does not get beyond either, so that the value built there
 * is within the bounds.
 */
function scanJson(text: string): {isComplete: boolean; idText: string | undefined} {
	const strings = new StringScanner(text);
	const enclosing: (ObjectKeys | undefined)[] = [];
	let keys: ObjectKeys | undefined;
	let key: string | undefined;
	let idText: string | undefined;
	let longKeys = 0;
	let values = 0;
	let position = 0;
	for (;;) {
		let code = text.charCodeAt(position);
		while (isSpace(code)) code = text.charCodeAt(++position);
		let isJustOpened = false;
		if (++values > MAX_JSON_VALUES) throw limitError(MAX_JSON_VALUES, 'JSON values');
		if (code === QUOTE) {
			position = strings.findEnd(position + 1) + 1;
			if (position === 0) break;
		} else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
			if (enclosing.length === MAX_JSON_DEPTH) throw new StrictJsonError('recursion limit exceeded');
			enclosing.push(keys);
			keys = code === OPEN_BRACE ? new ObjectKeys() : undefined;
			isJustOpened = true;
			position++;
		} else {
			const start = position;
			const isNumber = code === MINUS || (code >= DIGIT_0 && code <= DIGIT_9);
			while (isInsideScalar(code)) code = text.charCodeAt(++position);
			if (isNumber && key === 'id' && keys !== undefined && enclosing.length === 1)
				idText = text.slice(start, position);
		}

		code = text.charCodeAt(position);
		while (isSpace(code)) code = text.charCodeAt(++position);
		while (enclosing.length > 0 && code === (keys === undefined ? CLOSE_BRACKET : CLOSE_BRACE)) {
			keys = enclosing.pop();
			isJustOpened = false;
			code = text.charCodeAt(++position);
			while (isSpace(code)) code = text.charCodeAt(++position);
		}
		if (enclosing.length === 0) return {isComplete: true, idText};
		if (!isJustOpened) {
			if (code !== COMMA) break;
			code = text.charCodeAt(++position);
			while (isSpace(code)) code = text.charCodeAt(++position);
		}
		if (keys === undefined) continue;

		if (code !== QUOTE) break;
		const keyStart = position + 1;
		position = strings.findEnd(keyStart);
		if (position < 0) break;
		key = text.slice(keyStart, position);
		if (strings.hasEscapes) key = unescapeKey(key);
		if (key === undefined) break;
		if (key.length >= MIN_LONG_JSON_KEY_CHARS && ++longKeys > MAX_LONG_JSON_KEYS) {
			throw limitError(MAX_LONG_JSON_KEYS, 'long object keys');
		}
		if (!keys.add(key))
			throw new StrictJsonError(`duplicate JSON object key \`${truncateText(key, MAX_JSON_ERROR_CHARS)}\``);
		code = text.charCodeAt(++position);
		while (isSpace(code)) code = text.charCodeAt(++position);
		if (code !== COLON) break;
		position++;
	}
	return {isComplete: false, idText};
}

/** Finds the ends of strings. */
class StringScanner {
	/** True when the last string holds a backslash. */
	hasEscapes = false;
	readonly #text: string;
	/** Positions of the next quote and backslash once searched for; stale when before the current position. */
	#quote = -1;
	#backslash = -1;

	constructor(text: string) {
		this.#text = text;
	}

	/** Position of the closing quote of the string that begins at `start`, or -1. */
	findEnd(start: number): number {
		const text = this.#text;
		let position = start;
		let runEnd = start + MAX_SHORT_RUN_CHARS;
		this.hasEscapes = false;
		for (;;) {
			const code = text.charCodeAt(position);
			if (code === QUOTE) return position;
			if (code === BACKSLASH) {
				this.hasEscapes = true;
				position = text.charCodeAt(position + 1) === LETTER_U ? skipUnicodeEscape(text, position) : position + 2;
			} else {
				position++;
			}
			if (position >= runEnd) {
				position = this.#findSpecial(position);
				if (position >= text.length) return -1;
				runEnd = position + MAX_SHORT_RUN_CHARS;
			}
		}
	}

	/** Caches both positions, so that a string full of escapes is not searched to its end again and again. */
	#findSpecial(position: number): number {
		const text = this.#text;
		if (this.#quote < position) this.#quote = findOrEnd(text, '"', position);
		if (this.#backslash < position) this.#backslash = findOrEnd(text, '\\', position);
		return Math.min(this.#quote, this.#backslash);
	}
}

/** Keys of one object seen so far. */
class ObjectKeys {
	readonly #list: string[] = [];
	#set: Set<string> | undefined;

	/** Returns false for a duplicate. */
	add(key: string): boolean {
		if (this.#set !== undefined) return this.#set.size < this.#set.add(key).size;
		for (const other of this.#list) if (other === key) return false;
		if (this.#list.push(key) > MAX_LISTED_KEYS) this.#set = new Set(this.#list);
		return true;
	}
}

function isSpace(code: number): boolean {
	return code <= SPACE && (code === SPACE || code === 0x0a || code === 0x0d || code === 0x09);
}

/** True for every character of numbers and literals, and for some others. */
function isInsideScalar(code: number): boolean {
	return code > COMMA ? code !== CLOSE_BRACKET && code !== CLOSE_BRACE : code === PLUS;
}

function findOrEnd(text: string, symbol: string, from: number): number {
	const index = text.indexOf(symbol, from);
	return index < 0 ? text.length : index;
}

function skipUnicodeEscape(text: string, at: number): number {
	const unit = Number.parseInt(text.slice(at + 2, at + 6), 16);
	if (!(unit >= 0xd800 && unit <= 0xdfff)) return at + 6;
	const next = text.startsWith('\\u', at + 6) ? Number.parseInt(text.slice(at + 8, at + 12), 16) : 0;
	if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) return at + 12;
	throw new StrictJsonError('lone surrogate in JSON string');
}

function unescapeKey(raw: string): string | undefined {
	try {
		return JSON.parse(`"${raw}"`) as string;
	} catch {
		return undefined;
	}
}

function limitError(max: number, noun: string): StrictJsonError {
	return new StrictJsonError(`JSON-RPC message exceeds the limit of ${max} ${noun}`);
}

/** Truncates a text of the peer for an error message, without lone surrogates: other parsers refuse a message with one. */
export function truncateText(text: string, maxChars: number): string {
	return text.slice(0, maxChars).replace(/\p{Surrogate}/gu, '\uFFFD');
}
