import {isDeepStrictEqual} from 'node:util';
import {parse, stringify, TomlError} from 'smol-toml';
import {toStatements} from '../../../../environments/config/edit/toml-statements.js';
import {applyEdit, lineEndOf, type TextEdit, UneditableError} from './text-edit.js';

type Table = Record<string, Record<string, unknown>>;

/** The value of `[section.name]`; undefined if there is none. */
export function readTomlEntry(text: string, section: string, name: string): unknown {
	return parseToml(text)[section]?.[name];
}

/** The edit that writes the table `[section.name]`: at the end of the text, or in the place of the one that is there. */
export function setTomlEntry(text: string, section: string, name: string, value: Record<string, unknown>): TextEdit {
	const before = parseToml(text);
	const lineEnd = lineEndOf(text);
	const written = stringify({[section]: {[name]: value}}).trim();
	const place = findTable(text, section, name);
	const gap = text === '' ? '' : `${text.endsWith('\n') ? '' : lineEnd}${lineEnd}`;
	const edit = place
		? {...place, text: toLineEnds(`${written}\n`, lineEnd)}
		: {start: text.length, end: text.length, text: gap + toLineEnds(`${written}\n`, lineEnd)};
	verify(text, edit, {...before, [section]: {...before[section], [name]: value}});
	return edit;
}

/** The edit that takes the table `[section.name]` out; undefined if there is none. */
export function removeTomlEntry(text: string, section: string, name: string): TextEdit | undefined {
	const before = parseToml(text);
	if (before[section]?.[name] === undefined) return undefined;
	const place = findTable(text, section, name);
	const {[name]: _removed, ...rest} = before[section];
	const {[section]: _section, ...others} = before;
	// A table without entries of its own is there only by the names of those below it.
	const expected = Object.keys(rest).length === 0 ? others : {...before, [section]: rest};
	const edit = {...(place ?? {start: 0, end: 0}), text: ''};
	verify(text, edit, expected);
	return edit;
}

/** From its header to behind its last pair, with the tables below it; blank lines and comments behind stay. */
function findTable(text: string, section: string, name: string): Omit<TextEdit, 'text'> | undefined {
	const isHeader = headerPattern(section, name, '\\]');
	const isBelow = headerPattern(section, name, '\\.');
	let at = 0;
	let found: {start: number; end: number} | undefined;
	let isInside = false;
	for (const {kind, text: piece} of toStatements(text)) {
		const end = at + piece.length;
		if (kind === 'header') isInside = isHeader.test(piece) || isBelow.test(piece);
		if (isInside && (kind === 'header' || kind === 'pair')) found = {start: found?.start ?? at, end};
		at = end;
	}
	return found;
}

function headerPattern(section: string, name: string, after: string): RegExp {
	const [one, two] = [section, name].map(word => `(?:${word}|"${word}"|'${word}')`);
	return new RegExp(`^\\s*\\[\\s*${one}\\s*\\.\\s*${two}\\s*${after}`);
}

function toLineEnds(text: string, lineEnd: string): string {
	return text.replaceAll('\n', lineEnd);
}

/** Nothing is written unless the new text means exactly what it should. */
function verify(text: string, edit: TextEdit, expected: unknown): void {
	if (isDeepStrictEqual(toComparable(parseIfValid(applyEdit(text, edit))), toComparable(expected))) return;
	throw new UneditableError('it is laid out in a way that cannot be edited for you; edit it by hand');
}

function parseIfValid(text: string): Table | null {
	try {
		return parseToml(text);
	} catch {
		return null;
	}
}

/** Without the parser's quotation of the lines around the fault, which may hold a secret. */
function parseToml(text: string): Table {
	try {
		return parse(text, {integersAsBigInt: 'asNeeded'}) as unknown as Table;
	} catch (cause) {
		if (!(cause instanceof TomlError)) throw cause;
		const [what] = cause.message.replace(/^Invalid TOML document: /, '').split('\n', 1);
		throw new UneditableError(`line ${cause.line}, column ${cause.column}: ${what}`);
	}
}

/** The parser's tables have no prototype, those made here have one. */
function toComparable(value: unknown): unknown {
	return JSON.parse(
		JSON.stringify(value, (_key, each: unknown) => {
			if (typeof each === 'bigint') return `${each}n`;
			return typeof each === 'number' && !Number.isFinite(each) ? String(each) : each;
		}),
	);
}
