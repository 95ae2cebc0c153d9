import fs from 'node:fs';

const MAX_BASE64_CHARACTERS = 4000;
const MAX_UNPARSED_CHARACTERS = 2000;
const MIN_SCRUBBED_CHARACTERS = 4;
const BASE64_FIELDS = new Set(['chunk', 'deltaBase64', 'bodyBase64', 'dataBase64']);

/**
 * Replaces machine paths in transcripts, never on the wire. Base64 fields are decoded for that (a chunk cut in the
 * middle of a path keeps its part) and shortened when they are long.
 */
export function scrubber(pairs) {
	const list = pairs
		.filter(([from]) => from?.length >= MIN_SCRUBBED_CHARACTERS)
		.sort(([one], [other]) => other.length - one.length);
	const plain = text => list.reduce((scrubbed, [from, to]) => scrubbed.replaceAll(from, to), text);
	const scrubField = (key, value) => {
		if (!BASE64_FIELDS.has(key) || typeof value !== 'string') return value;
		if (value.length > MAX_BASE64_CHARACTERS) return `${value.slice(0, 80)}...(${value.length} characters of base64)`;
		const before = Buffer.from(value, 'base64').toString('latin1');
		const after = plain(before);
		return after === before ? value : Buffer.from(after, 'latin1').toString('base64');
	};
	return value => JSON.parse(plain(JSON.stringify(value, scrubField)));
}

/** Everything that went over a wire, in order; also in a file of JSON lines if one is named. */
export class Recorder {
	entries = [];
	#started = Date.now();
	#file;
	#scrub;

	constructor(file, scrub = value => value) {
		this.#file = file;
		this.#scrub = scrub;
		if (file) fs.writeFileSync(file, '');
	}

	add(entry) {
		this.#append({t: Date.now() - this.#started, ...entry});
	}

	/** `direction` is `c>s` from the client to the server, or `s>c`. */
	addMessage(conn, dir, raw, isBinary) {
		const text = raw.toString('utf8');
		const frame = {conn, dir, ...(isBinary && {binary: true})};
		try {
			this.add({...frame, msg: JSON.parse(text)});
		} catch {
			this.add({...frame, unparsed: text.slice(0, MAX_UNPARSED_CHARACTERS)});
		}
	}

	/** Takes over a transcript that another process wrote. */
	load(file) {
		const lines = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);
		for (const line of lines) this.#append(JSON.parse(line));
	}

	requests(method) {
		return this.entries.filter(({dir, msg}) => dir === 'c>s' && msg?.id !== undefined && msg.method === method);
	}

	notifications(method) {
		return this.entries.filter(({dir, msg}) => dir === 's>c' && msg?.id === undefined && msg?.method === method);
	}

	/** The answers the server gave to requests of a method. */
	answers(method) {
		return this.requests(method)
			.map(request => this.entries.find(entry => isAnswerTo(request, entry))?.msg)
			.filter(answer => answer !== undefined);
	}

	#append(entry) {
		this.entries.push(entry);
		if (this.#file) fs.appendFileSync(this.#file, `${JSON.stringify(this.#scrub(entry))}\n`);
	}
}

function isAnswerTo(request, {conn, dir, msg}) {
	return dir === 's>c' && conn === request.conn && msg?.id === request.msg.id && !msg.method;
}
