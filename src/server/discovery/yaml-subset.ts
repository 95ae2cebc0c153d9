/** A value of a document. Scalars stay text: the reader of a member knows its type. */
export type Yaml = string | null | readonly Yaml[] | {readonly [key: string]: Yaml};

interface Line {
	readonly indent: number;
	/** Without indentation and surrounding white space. */
	readonly text: string;
}

const NULLS: ReadonlySet<string> = new Set(['', '~', 'null', 'Null', 'NULL']);
const ESCAPES: Readonly<Record<string, string>> = {n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '0': '\0', e: '\x1b'};
const ESCAPE = /\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|.)/gs;
/** Nesting of mappings and lists in the header of a skill. */
const MAX_DEPTH = 32;

/**
 * Parses the part of YAML that headers of skills are written in: mappings, lists, flat `[a, b]` and `{a: b}`, and
 * scalars that are plain, quoted or a block. Throws for anchors, tags, and text that is not YAML. Other braces and
 * brackets, and `a: b: c`, are text.
 */
export function parseYaml(text: string): Yaml {
	const lines = text.split(/\r?\n/).map(line => ({indent: line.search(/[^ ]|$/), text: line.trim()}));
	return new BlockParser(lines).parseDocument();
}

class BlockParser {
	readonly #lines: readonly Line[];
	#next = 0;

	constructor(lines: readonly Line[]) {
		this.#lines = lines;
	}

	parseDocument(): Yaml {
		const first = this.#peek();
		const value = first ? this.#parseBlock(first.indent, 0) : null;
		if (this.#peek()) throw new Error(`line ${this.#next + 1} is indented wrongly`);
		return value;
	}

	/** The next line that is neither empty nor a comment. */
	#peek(): Line | undefined {
		while (/^(?:#|$)/.test(this.#lines[this.#next]?.text ?? '-')) this.#next++;
		return this.#lines[this.#next];
	}

	#parseBlock(indent: number, depth: number): Yaml {
		if (depth > MAX_DEPTH) throw new Error('too deep');
		return isItem(this.#peek()!) ? this.#parseList(indent, depth) : this.#parseMapping(indent, depth);
	}

	#parseList(indent: number, depth: number): Yaml {
		const items: Yaml[] = [];
		for (let line = this.#peek(); line?.indent === indent && isItem(line); line = this.#peek()) {
			const content = line.text.slice(1).trimStart();
			const inner = {indent: indent + line.text.length - content.length, text: content};
			if (splitKey(content)) {
				// A mapping may begin in the line of the dash.
				(this.#lines as Line[])[this.#next] = inner;
				items.push(this.#parseMapping(inner.indent, depth + 1));
			} else {
				this.#next++;
				items.push(this.#parseValue(content, indent, depth));
			}
		}
		return items;
	}

	#parseMapping(indent: number, depth: number): Yaml {
		const mapping = new Map<string, Yaml>();
		for (let line = this.#peek(); line?.indent === indent && !isItem(line); line = this.#peek()) {
			const [key, rest] = splitKey(line.text) ?? [];
			if (key === undefined || mapping.has(key)) throw new Error(`line ${this.#next + 1} is not a new member`);
			this.#next++;
			mapping.set(key, this.#parseValue(rest!, indent, depth));
		}
		return Object.fromEntries(mapping);
	}

	/** The value that begins with `text`, below a line of this indentation. */
	#parseValue(text: string, indent: number, depth: number): Yaml {
		const block = /^([|>])[-+\d]*(?:\s+#.*)?$/.exec(text);
		if (block) return this.#takeLines(indent, () => true).join(block[1] === '|' ? '\n' : ' ');
		if (text !== '' && !text.startsWith('#')) return this.#parseInline(text, indent);
		const below = this.#peek();
		// The items of a list may stand below the key, without indentation.
		const isBelow = below && (below.indent > indent || (below.indent === indent && isItem(below)));
		return isBelow ? this.#parseBlock(below.indent, depth + 1) : null;
	}

	#parseInline(first: string, indent: number): Yaml {
		if (/^[&*!%]/.test(first)) throw new Error('anchors and tags are not supported');
		const isQuoted = /^["']/.test(first);
		const rest = this.#takeLines(indent, text => isQuoted || !text.startsWith('#'));
		const whole = [first, ...rest].join(' ');
		if (isQuoted) return parseQuoted(whole);
		const comment = whole.search(/\s#/);
		const text = (comment < 0 ? whole : whole.slice(0, comment)).trim();
		return /^(?:\[[^[\]{}]*\]|\{[^[\]{}]*\})$/.test(text) ? parseFlow(text) : toScalar(text);
	}

	/** Lines that continue a value: those with more indentation, and empty ones between them. */
	#takeLines(indent: number, fits: (text: string) => boolean): string[] {
		const taken: string[] = [];
		for (let line = this.#lines[this.#next]; line; line = this.#lines[this.#next]) {
			if (line.text !== '' && (line.indent <= indent || !fits(line.text))) break;
			taken.push(line.text);
			this.#next++;
		}
		return taken;
	}
}

const isItem = ({text}: Line): boolean => text === '-' || text.startsWith('- ');

/** Key and the rest of a line; undefined if it has none. */
function splitKey(text: string): [key: string, rest: string] | undefined {
	const quoted = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?=\s*:)/.exec(text)?.[0];
	const start = quoted?.length ?? 0;
	const end = start + text.slice(start).search(/:(?=\s|$)/);
	if (end <= 0 || (!quoted && /^["'[\]{},&*!|>%@`#?]/.test(text))) return undefined;
	return [quoted ? parseQuoted(quoted) : text.slice(0, end).trimEnd(), text.slice(end + 1).trimStart()];
}

function toScalar(text: string): string | null {
	return NULLS.has(text) ? null : text;
}

/** A quoted scalar, and nothing behind it but a comment. */
function parseQuoted(text: string): string {
	const found = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')\s*(?:#.*)?$/s.exec(text);
	if (!found) throw new Error('a quoted text does not end');
	if (found[2] !== undefined) return found[2].replaceAll("''", "'");
	return found[1]!.replaceAll(ESCAPE, (escape: string) => {
		const [letter, code] = [escape[1]!, escape.slice(2)];
		return code === '' ? (ESCAPES[letter] ?? letter) : String.fromCodePoint(Number.parseInt(code, 16));
	});
}

/** A collection on one line without another one in it. */
function parseFlow(text: string): Yaml {
	const items = text.slice(1, -1).match(/(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,"'])+/g) ?? [];
	const members = items.map(item => item.trim()).filter(item => item !== '');
	if (text.startsWith('[')) return members.map(parseWord);
	const mapping = new Map<string, Yaml>();
	for (const member of members) {
		const [key, rest] = splitKey(member) ?? [member, ''];
		mapping.set(key, parseWord(rest));
	}
	return Object.fromEntries(mapping);
}

function parseWord(text: string): string | null {
	return /^["']/.test(text) ? parseQuoted(text) : toScalar(text);
}
