/** Text in which something was replaced. */
export interface Replaced {
	/** Places where it was found. */
	readonly count: number;
	/** Line of the first. */
	readonly line: number;
	/** The text with all of them replaced. */
	readonly after: string;
}

/**
 * Replaces a text whatever the line ends of the file are, because models see and write `\n`: `old` matches `\r\n`, too, and
 * what is put in has the line ends of the place it comes to. With a carriage return that ends no line, `old` is taken as it
 * is if it is there.
 */
export function replaceText(text: string, old: string, replacement: string): Replaced {
	const hasPlainEnds = !text.includes('\r\n') && !old.includes('\r\n');
	if (hasPlainEnds || (/\r(?!\n)/.test(old) && text.includes(old))) {
		const parts = text.split(old);
		return {count: parts.length - 1, line: countLines(parts[0]!), after: parts.join(replacement)};
	}
	const wanted = toNewlines(old);
	const parts = toNewlines(text).split(wanted);
	const lineEnds = new LineEnds(text);
	const inserted = {'\n': toNewlines(replacement), '\r\n': toNewlines(replacement).replaceAll('\n', '\r\n')};
	const pieces: string[] = [];
	let at = 0;
	for (const [index, part] of parts.entries()) {
		const start = skipLines(text, at, part);
		pieces.push(text.slice(at, start));
		if (index === parts.length - 1) break;
		pieces.push(inserted[lineEnds.from(start)]);
		at = skipLines(text, start, wanted);
	}
	return {count: parts.length - 1, line: countLines(parts[0]!), after: pieces.join('')};
}

/** The place behind `wanted`, which is at a place of the text but for its line ends. */
function skipLines(text: string, place: number, wanted: string): number {
	let at = place;
	for (const [index, line] of wanted.split('\n').entries()) {
		if (index > 0) at += text.startsWith('\r\n', at) ? 2 : 1;
		at += line.length;
	}
	return at;
}

/** The line ends of a text, asked for from its beginning to its end. */
class LineEnds {
	readonly #text: string;
	#newline = -1;
	#last: '\r\n' | '\n' = '\n';

	constructor(text: string) {
		this.#text = text;
	}

	/** The line end at or behind a place; the last one if there is none. */
	from(place: number): '\r\n' | '\n' {
		if (this.#newline >= place) return this.#last;
		const found = this.#text.indexOf('\n', place);
		this.#newline = found < 0 ? Number.POSITIVE_INFINITY : found;
		const end = found < 0 ? this.#text.lastIndexOf('\n') : found;
		this.#last = this.#text[end - 1] === '\r' ? '\r\n' : '\n';
		return this.#last;
	}
}

function toNewlines(text: string): string {
	return text.replaceAll('\r\n', '\n');
}

function countLines(text: string): number {
	return text.split('\n').length;
}
