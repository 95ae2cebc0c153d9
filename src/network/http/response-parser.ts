import {ChunkedBody} from './chunked-body.js';
import {
	checkHeadPart,
	checkHeadStart,
	type Framing,
	HttpParseError,
	MAX_RESPONSE_HEAD_BYTES,
	parseResponseHead,
	type ReceivedHead,
} from './response-head.js';

/** Preliminary responses (1xx) passed over before the final one. */
const MAX_PRELIMINARY_RESPONSES = 32;
const CR = 13;
const LF = 10;
const HEAD_END = '\r\n\r\n';
const SWITCHING_PROTOCOLS = 101;
const FIRST_FINAL_STATUS = 200;
/** `HTTP/1.1 200`. */
const MIN_STATUS_LINE_BYTES = 12;

export interface ResponseEvents {
	/** Called once, unless the response fails before. */
	onHead(head: ReceivedHead): void;
	/** The bytes are only borrowed: their memory is used again when this returns. */
	onBody(bytes: Buffer): void;
}

type State =
	| {readonly kind: 'head'}
	| {readonly kind: 'length'; remaining: number}
	| {readonly kind: 'chunked'; readonly body: ChunkedBody}
	| {readonly kind: 'until-close'}
	| {readonly kind: 'done'};

const HEAD: State = {kind: 'head'};
const UNTIL_CLOSE: State = {kind: 'until-close'};
const DONE: State = {kind: 'done'};

/** Parses the response to one request, piece by piece. Throws an error at the first violation; the rest is lost then. */
export class ResponseParser {
	readonly #method: string;
	readonly #events: ResponseEvents;
	#state: State = HEAD;
	#partial: PartialHead | undefined;
	#preliminaryCount = 0;

	constructor(method: string, events: ResponseEvents) {
		this.#method = method;
		this.#events = events;
	}

	get isDone(): boolean {
		return this.#state === DONE;
	}

	/** Takes bytes, and writes to their memory. Returns false if some are left behind the end of the response. */
	push(bytes: Buffer): boolean {
		if (this.#state === HEAD) return this.#readHead(bytes);
		return this.#readBody(bytes, 0);
	}

	/** The origin has closed the connection; true if the response is complete. */
	finish(): boolean {
		if (this.#state === UNTIL_CLOSE) this.#state = DONE;
		return this.isDone;
	}

	#readHead(received: Buffer): boolean {
		const bytes = this.#partial ? this.#partial.append(received) : received;
		let searchFrom = this.#partial?.searchFrom ?? 0;
		for (let from = skipLineEnds(bytes); from < bytes.length; from = skipLineEnds(bytes, from)) {
			const end = bytes.indexOf(HEAD_END, Math.max(from, searchFrom), 'latin1');
			if ((end === -1 ? bytes.length : end) - from > MAX_RESPONSE_HEAD_BYTES)
				throw new HttpParseError('Header overflow');
			if (end === -1) {
				this.#keepPartial(bytes.subarray(from));
				return true;
			}
			this.#partial = undefined;
			const head = parseResponseHead(bytes.toString('latin1', from, end), this.#method);
			from = end + HEAD_END.length;
			searchFrom = from;
			if (this.#takeHead(head)) return this.#readBody(bytes, from);
		}
		return true;
	}

	#keepPartial(bytes: Buffer): void {
		this.#partial ??= new PartialHead(bytes);
		this.#partial.check();
	}

	/** Returns false for a preliminary response. */
	#takeHead(head: ReceivedHead): boolean {
		if (head.status === SWITCHING_PROTOCOLS) throw new Error('the origin switched to another protocol');
		if (head.status < FIRST_FINAL_STATUS) {
			if (!head.isPersistent) throw new HttpParseError('Nothing may follow a response that closes the connection');
			if (++this.#preliminaryCount <= MAX_PRELIMINARY_RESPONSES) return false;
			throw new Error(`the origin sent more than ${MAX_PRELIMINARY_RESPONSES} preliminary responses`);
		}
		this.#state = toState(head.framing);
		this.#events.onHead(head);
		if (head.framing.kind === 'length' && head.framing.bytes === 0) this.#state = DONE;
		return true;
	}

	#readBody(bytes: Buffer, start: number): boolean {
		const state = this.#state;
		if (state.kind === 'chunked') {
			const end = state.body.push(bytes, start, piece => this.#events.onBody(piece));
			if (state.body.isDone) this.#state = DONE;
			return end === bytes.length;
		}
		if (start === bytes.length) return true;
		if (state.kind === 'until-close') {
			this.#events.onBody(start === 0 ? bytes : bytes.subarray(start));
			return true;
		}
		if (state.kind !== 'length') return false;
		const end = Math.min(bytes.length, start + state.remaining);
		state.remaining -= end - start;
		this.#events.onBody(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end));
		if (state.remaining === 0) this.#state = DONE;
		return end === bytes.length;
	}
}

/** Bytes of a head that is not complete. */
class PartialHead {
	#memory: Buffer;
	#length: number;
	#checkedBytes = 0;

	constructor(bytes: Buffer) {
		this.#memory = Buffer.from(bytes);
		this.#length = bytes.length;
	}

	/** Where the end of the head may begin at the earliest, for all bytes but the last that were appended. */
	get searchFrom(): number {
		return Math.max(0, this.#checkedBytes - HEAD_END.length + 1);
	}

	/** Returns all bytes so far; valid until the next call. */
	append(bytes: Buffer): Buffer {
		const length = this.#length + bytes.length;
		if (length > this.#memory.length) {
			// Doubled, so that a head that comes byte by byte is not copied for each.
			const memory = Buffer.allocUnsafe(2 * length);
			this.#memory.copy(memory, 0, 0, this.#length);
			this.#memory = memory;
		}
		bytes.copy(this.#memory, this.#length);
		this.#length = length;
		return this.#memory.subarray(0, length);
	}

	/** Throws if no valid head begins like this; looks at each byte once. */
	check(): void {
		if (this.#checkedBytes < MIN_STATUS_LINE_BYTES) checkHeadStart(this.#memory.toString('latin1', 0, this.#length));
		// From the last byte on that was seen, which may be the first half of a line end.
		const from = Math.max(0, this.#checkedBytes - 1);
		checkHeadPart(this.#memory.toString('latin1', this.#memory[from] === LF ? from + 1 : from, this.#length));
		this.#checkedBytes = this.#length;
	}
}

function toState(framing: Framing): State {
	if (framing.kind === 'length') return {kind: 'length', remaining: framing.bytes};
	return framing.kind === 'chunked' ? {kind: 'chunked', body: new ChunkedBody()} : UNTIL_CLOSE;
}

/** Empty lines may precede a response. */
function skipLineEnds(bytes: Buffer, start = 0): number {
	let offset = start;
	while (bytes[offset] === CR || bytes[offset] === LF) offset++;
	return offset;
}
