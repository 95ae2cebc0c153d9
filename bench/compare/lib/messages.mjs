// Reading of messages at the least cost: the base64 text of a message that carries bulk data is never parsed as JSON. It
// is cut out by position, only its length is kept, and the about 100 bytes of JSON around it are parsed.

/** Messages up to this size that straddle two reads are copied together. */
const SCRATCH_BYTES = 1024 * 1024;
/** Kept of the beginning and of the end of a message that is larger. */
const HEAD_BYTES = 2048;
const TAIL_BYTES = 2048;
/** Shorter messages are parsed whole: that is quicker than looking for bulk data in them. */
const MAX_PLAIN_BYTES = 700;
/** Most JSON behind the bulk field of a message. */
const MAX_SUFFIX_BYTES = 512;
const BULK_KEYS = ['"chunk":"', '"dataBase64":"', '"deltaBase64":"', '"bodyBase64":"'];
const QUOTE = 0x22;
const PADDING = 0x3d;

/** Decoded size of `length` base64 characters of which `padding` are '='. */
function decodedSize(length, padding) {
	return (length / 4) * 3 - padding;
}

/** Number of '=' that end at `end`. */
function paddingBefore(buffer, end) {
	if (buffer[end - 1] !== PADDING) return 0;
	return buffer[end - 2] === PADDING ? 2 : 1;
}

/** Index just past the opening quote of the bulk field in the first bytes of a message, or -1. */
function bulkStart(head) {
	let first = -1;
	for (const key of BULK_KEYS) {
		const at = head.indexOf(key);
		if (at >= 0 && (first < 0 || at + key.length < first)) first = at + key.length;
	}
	return first;
}

/** The message from `start` to `end`; `bulkBytes` are the decoded bytes of its bulk field, -1 when it has none. */
export function parseWhole(buffer, start, end) {
	const length = end - start;
	if (length <= MAX_PLAIN_BYTES) return parsePlain(buffer.utf8Slice(start, end));
	const head = buffer.latin1Slice(start, start + Math.min(HEAD_BYTES, length));
	const at = bulkStart(head);
	if (at >= 0) {
		const from = start + at;
		const to = buffer.indexOf(QUOTE, from);
		if (to >= 0 && to < end && end - to < MAX_SUFFIX_BYTES) {
			const padding = to > from ? paddingBefore(buffer, to) : 0;
			const json = JSON.parse(head.slice(0, at) + buffer.latin1Slice(to, end));
			return {json, bulkBytes: decodedSize(to - from, padding)};
		}
	}
	return {json: JSON.parse(buffer.utf8Slice(start, end)), bulkBytes: -1};
}

function parsePlain(text) {
	const json = JSON.parse(text);
	const content = json.params ?? json.result;
	const base64 = content && (content.chunk ?? content.dataBase64 ?? content.deltaBase64 ?? content.bodyBase64);
	if (typeof base64 !== 'string') return {json, bulkBytes: -1};
	const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
	return {json, bulkBytes: decodedSize(base64.length, padding)};
}

/** A message of which only head, tail and total length were kept. */
function parseCut(head, tail, total) {
	const text = head.latin1Slice(0, head.length);
	const at = bulkStart(text);
	const quote = tail.indexOf(QUOTE);
	if (at < 0 || quote < 0) throw new Error('large message without a bulk field; use capture');
	const suffix = tail.latin1Slice(quote, tail.length);
	const length = total - at - suffix.length;
	const json = JSON.parse(text.slice(0, at) + suffix);
	return {json, bulkBytes: decodedSize(length, paddingBefore(tail, quote))};
}

/** Collects a message that does not lie in one read. */
export class Assembler {
	/** Whether large messages are kept whole, for replies with many fields. */
	capture = false;
	length = 0;
	#scratch = Buffer.allocUnsafe(SCRATCH_BYTES);
	#head = null;
	#tail = null;
	#pieces = null;

	push(buffer, start, end) {
		const size = end - start;
		if (size === 0) return;
		if (this.#pieces) {
			this.#pieces.push(Buffer.from(buffer.subarray(start, end)));
			this.length += size;
			return;
		}
		if (!this.#head) {
			if (this.length + size <= SCRATCH_BYTES) {
				buffer.copy(this.#scratch, this.length, start, end);
				this.length += size;
				return;
			}
			if (this.capture) {
				const before = Buffer.from(this.#scratch.subarray(0, this.length));
				this.#pieces = [before, Buffer.from(buffer.subarray(start, end))];
				this.length += size;
				return;
			}
			this.#keepEnds(buffer, start);
		}
		if (size >= TAIL_BYTES) this.#tail = Buffer.from(buffer.subarray(end - TAIL_BYTES, end));
		else {
			const kept = this.#tail.subarray(Math.max(0, this.#tail.length + size - TAIL_BYTES));
			this.#tail = Buffer.concat([kept, buffer.subarray(start, end)]);
		}
		this.length += size;
	}

	finish() {
		const message = this.#parse();
		this.length = 0;
		this.#head = null;
		this.#tail = null;
		this.#pieces = null;
		return message;
	}

	#keepEnds(buffer, start) {
		const {length} = this;
		this.#head = Buffer.from(this.#scratch.subarray(0, Math.min(HEAD_BYTES, length)));
		if (this.#head.length < HEAD_BYTES) {
			const rest = buffer.subarray(start, start + HEAD_BYTES - this.#head.length);
			this.#head = Buffer.concat([this.#head, rest]);
		}
		this.#tail = Buffer.from(this.#scratch.subarray(Math.max(0, length - TAIL_BYTES), length));
	}

	#parse() {
		if (this.#pieces) {
			return {json: JSON.parse(Buffer.concat(this.#pieces).toString('utf8')), bulkBytes: -1};
		}
		if (this.#head) return parseCut(this.#head, this.#tail, this.length);
		return parseWhole(this.#scratch, 0, this.length);
	}
}
