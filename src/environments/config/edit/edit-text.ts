import {stringify} from 'smol-toml';
import type {EnvironmentLabels} from '../../../shared/labels.js';
import {type Statement, toStatements} from './toml-statements.js';

/** An environment as it stands in the file. */
export interface TomlEntry {
	readonly id: string;
	readonly url?: string;
	readonly auth_bearer_token?: string;
	readonly ca_file?: string;
	readonly tls_fingerprint?: string;
	readonly executor_key?: string;
	readonly program?: string;
	readonly args?: readonly string[];
	readonly cwd?: string;
	readonly labels?: EnvironmentLabels;
}

const ENTRY_HEADER = /^\s*\[\[\s*environments\s*\]\]/;
const PART_HEADER = /^\s*\[\s*environments\s*\./;
const BARE_KEY = /^[\w-]+$/;
const DEFAULT = /^(\s*default\s*=\s*)(?:"[^"\n]*"|'[^'\n]*')/;

/** The text with one more environment at its end. */
export function withEntry(text: string, entry: TomlEntry): string {
	const before = text === '' || text.endsWith('\n') ? text : `${text}\n`;
	const gap = before === '' || before.endsWith('\n\n') ? '' : '\n';
	const {labels, ...rest} = entry;
	return `${before}${gap}${stringify({environments: [rest]}).trim()}\n${labels ? toLabelsLine(labels) : ''}`;
}

/** As an inline table: in a table of its own they would stand apart from the entry. */
function toLabelsLine(labels: EnvironmentLabels): string {
	const pairs = Object.entries(labels).map(([key, value]) => {
		return `${BARE_KEY.test(key) ? key : JSON.stringify(key)} = ${JSON.stringify(value)}`;
	});
	return `labels = { ${pairs.join(', ')} }\n`;
}

/** The text without the environment at this place among all; comments right above it and in it go with it. */
export function withoutEntry(text: string, place: number): string {
	const statements = toStatements(text);
	const headers = statements.flatMap(({text: line}, at) => (ENTRY_HEADER.test(line) ? [at] : []));
	const header = headers[place];
	if (header === undefined) return text;
	const start = findStartOfComments(statements, header);
	const end = findEndOfTable(statements, header);
	return joinAroundCut(statements.slice(0, start), statements.slice(end));
}

/** The text with this environment as the default one. */
export function withDefault(text: string, id: string): string {
	const statements = toStatements(text);
	const at = findDefault(statements);
	if (at >= 0) {
		const changed = statements[at]!.text.replace(DEFAULT, (_all, name: string) => `${name}${JSON.stringify(id)}`);
		return [...statements.slice(0, at), {text: changed}, ...statements.slice(at + 1)].map(each => each.text).join('');
	}
	const firstHeader = statements.findIndex(({kind}) => kind === 'header');
	const start = firstHeader < 0 ? statements.length : findStartOfComments(statements, firstHeader);
	const [before, after] = [joinText(statements.slice(0, start)), joinText(statements.slice(start))];
	return `${before}default = ${JSON.stringify(id)}\n${after === '' ? '' : '\n'}${after}`;
}

/** The text with no word about the default. */
export function withoutDefault(text: string): string {
	const statements = toStatements(text);
	const at = findDefault(statements);
	return at < 0 ? text : joinAroundCut(statements.slice(0, at), statements.slice(at + 1));
}

function findDefault(statements: readonly Statement[]): number {
	const firstHeader = statements.findIndex(({kind}) => kind === 'header');
	const top = firstHeader < 0 ? statements : statements.slice(0, firstHeader);
	return top.findIndex(({text}) => DEFAULT.test(text));
}

/** Comments right above a table are about it, except at the top of the file, where they are about the file. */
function findStartOfComments(statements: readonly Statement[], header: number): number {
	let start = header;
	while (statements[start - 1]?.kind === 'comment') start--;
	return start === 0 ? header : start;
}

/** Behind the table's last pair, and behind comments below it that stand right above nothing else. */
function findEndOfTable(statements: readonly Statement[], header: number): number {
	let end = header + 1;
	for (let at = header + 1; at < statements.length; at++) {
		const {kind, text} = statements[at]!;
		if (kind === 'header' && !PART_HEADER.test(text)) break;
		if (kind === 'header' || kind === 'pair') end = at + 1;
	}
	let below = end;
	while (statements[below]?.kind === 'comment') below++;
	return statements[below]?.kind === 'header' ? end : below;
}

/** Joins the statements around a cut, with no more blank lines between than there were on one side. */
function joinAroundCut(before: readonly Statement[], after: readonly Statement[]): string {
	const isRoomy = before.length === 0 || before.at(-1)!.kind === 'blank';
	const firstSaid = after.findIndex(({kind}) => kind !== 'blank');
	const rest = firstSaid < 0 ? [] : isRoomy ? after.slice(firstSaid) : after;
	if (rest.length > 0) return joinText(before) + joinText(rest);
	const lastSaid = before.findLastIndex(({kind}) => kind !== 'blank');
	return joinText(before.slice(0, lastSaid + 1));
}

function joinText(statements: readonly Statement[]): string {
	return statements.map(({text}) => text).join('');
}
