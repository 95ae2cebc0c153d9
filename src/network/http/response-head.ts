/** Largest response head, the trailers of a chunked body included. */
export const MAX_RESPONSE_HEAD_BYTES = 256 * 1024;

/** Where the body of a response ends. */
export type Framing =
	| {readonly kind: 'length'; readonly bytes: number}
	| {readonly kind: 'chunked'}
	| {readonly kind: 'until-close'};

export interface HeaderField {
	/** In lower case. */
	readonly name: string;
	/** As on the wire: one character per byte. */
	readonly value: string;
}

export interface ReceivedHead {
	readonly status: number;
	/** In the order they were received, repeated ones included. */
	readonly headers: readonly HeaderField[];
	/** Some value has characters that are not visible ASCII. */
	readonly hasOpaqueValues: boolean;
	readonly framing: Framing;
	/** The origin keeps the connection open behind the body. */
	readonly isPersistent: boolean;
	/** Time after which the origin closes an idle connection, if it says so. */
	readonly idleTimeoutMs: number | undefined;
}

/** A response that breaks the rules of HTTP; nothing behind it can be trusted. */
export class HttpParseError extends Error {
	constructor(reason: string) {
		super(`Parse Error: ${reason}`);
	}
}

const NO_BODY: Framing = {kind: 'length', bytes: 0};
const CHUNKED: Framing = {kind: 'chunked'};
const UNTIL_CLOSE: Framing = {kind: 'until-close'};

const VERSION_PREFIX = 'HTTP/';
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/s;
/** Of a line that may not be complete. */
const STATUS_LINE_START =
	/^(?:HTTP\/1\.[01] [1-9]\d\d|(?:H|HT|HTT|HTTP|HTTP\/|HTTP\/1|HTTP\/1\.|HTTP\/1\.[01](?: (?:[1-9]\d?)?)?)$)/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const DIGITS = /^\d+$/;
/** Spaces may follow a length, but no tabs. */
const LENGTH_LINE = /\d *$/;
/** Control characters, and line ends that are not CR LF. */
const FORBIDDEN = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
const OPAQUE = /[^\t\r\n\x20-\x7e]/;
const IDLE_TIMEOUT = /(?:^|[\s,])timeout=(\d{1,9})(?=$|[\s,])/i;
const TAB = 9;
const SPACE = 32;

/**
 * Parses a response head without its last empty line, one character per byte. Strict where leniency lets two readers
 * see different messages: one line end, no folded lines, no space before the colon, one length.
 */
export function parseResponseHead(text: string, method: string): ReceivedHead {
	if (FORBIDDEN.test(text)) throwForbidden();
	const lines = text.split('\r\n');
	const [, minorVersion, status] = STATUS_LINE.exec(lines[0]!) ?? throwInvalidStart(lines[0]!);
	const headers: HeaderField[] = [];
	const fields = new ConnectionFields();
	for (let index = 1; index < lines.length; index++) {
		const field = parseField(lines[index]!);
		headers.push(field);
		fields.add(field, lines[index]!);
	}
	const framing = fields.toFraming(Number(status), method);
	return {
		status: Number(status),
		headers,
		hasOpaqueValues: OPAQUE.test(text),
		framing,
		isPersistent: framing !== UNTIL_CLOSE && fields.isPersistent(minorVersion === '1'),
		idleTimeoutMs: fields.idleTimeoutMs,
	};
}

/** Throws if no valid head begins like this. */
export function checkHeadStart(text: string): void {
	if (!STATUS_LINE_START.test(text)) throwInvalidStart(text);
}

/** Throws if no valid head has this text in it. */
export function checkHeadPart(text: string): void {
	// The last character may be the first half of a line end.
	if (FORBIDDEN.test(text.endsWith('\r') ? text.slice(0, -1) : text)) throwForbidden();
}

/** A line `name: value`; also for the trailers of a chunked body. */
export function parseField(line: string): HeaderField {
	const colon = line.indexOf(':');
	const name = line.slice(0, Math.max(colon, 0));
	if (!TOKEN.test(name)) throw new HttpParseError('Invalid header token');
	return {name: name.toLowerCase(), value: trimBlanks(line, colon + 1)};
}

function throwInvalidStart(text: string): never {
	const isHttp = text.startsWith(VERSION_PREFIX.slice(0, text.length));
	throw new HttpParseError(isHttp ? 'Invalid status line' : 'Expected HTTP/, RTSP/ or ICE/');
}

function throwForbidden(): never {
	throw new HttpParseError('Invalid character in the response head');
}

/** Spaces and tabs only: `trim` would take bytes of other encodings. */
function trimBlanks(line: string, from: number): string {
	let start = from;
	let end = line.length;
	while (start < end && isBlank(line.charCodeAt(start))) start++;
	while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
	return line.slice(start, end);
}

function isBlank(code: number): boolean {
	return code === SPACE || code === TAB;
}

/** The headers that say where the body ends and whether the connection goes on. */
class ConnectionFields {
	#length: number | undefined;
	/** Undefined without a transfer-encoding. */
	#codings: string | undefined;
	#closes = false;
	#keepsAlive = false;
	idleTimeoutMs: number | undefined;

	add({name, value}: HeaderField, line: string): void {
		switch (name) {
			case 'content-length':
				this.#addLength(value, line);
				break;
			case 'transfer-encoding':
				this.#addCodings(line.includes('\t') ? throwTabbedCodings() : value);
				break;
			case 'connection':
			case 'proxy-connection':
				this.#closes ||= hasListItem(value, 'close');
				this.#keepsAlive ||= hasListItem(value, 'keep-alive');
				break;
			case 'keep-alive': {
				const seconds = IDLE_TIMEOUT.exec(value)?.[1];
				if (seconds !== undefined) this.idleTimeoutMs = Number(seconds) * 1000;
				break;
			}
		}
	}

	toFraming(status: number, method: string): Framing {
		if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return NO_BODY;
		if (this.#codings !== undefined) return lastItem(this.#codings) === 'chunked' ? CHUNKED : UNTIL_CLOSE;
		return this.#length === undefined ? UNTIL_CLOSE : {kind: 'length', bytes: this.#length};
	}

	isPersistent(isByDefault: boolean): boolean {
		return !this.#closes && (isByDefault || this.#keepsAlive);
	}

	#addLength(value: string, line: string): void {
		if (this.#length !== undefined) throw new HttpParseError('Content-Length given more than once');
		if (this.#codings !== undefined) throwTwoFramings();
		if (!DIGITS.test(value) || !LENGTH_LINE.test(line)) throw new HttpParseError('Invalid character in Content-Length');
		this.#length = Number(value);
		if (this.#length > Number.MAX_SAFE_INTEGER) throw new HttpParseError('Content-Length overflow');
	}

	#addCodings(value: string): void {
		if (this.#length !== undefined) throwTwoFramings();
		this.#codings = this.#codings === undefined ? value : `${this.#codings},${value}`;
	}
}

/** Other readers do not see `chunked` beside a tab, and take the framing for the body. */
function throwTabbedCodings(): never {
	throw new HttpParseError('Tab in Transfer-Encoding');
}

function throwTwoFramings(): never {
	throw new HttpParseError('both Content-Length and Transfer-Encoding');
}

function hasListItem(list: string, item: string): boolean {
	return list.toLowerCase() === item || toItems(list).includes(item);
}

function lastItem(list: string): string {
	return toItems(list).at(-1)!;
}

function toItems(list: string): string[] {
	return list.split(',').map(item => trimBlanks(item, 0).toLowerCase());
}
