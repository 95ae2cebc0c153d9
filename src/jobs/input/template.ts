import type {ItemRow} from '../item-worker.js';
import {JobInputError} from './job-input-error.js';

/** Values for the reserved names of a template. */
export interface TemplateValues {
	readonly row: ItemRow;
	readonly itemId: string;
	readonly rowIndex: number;
	readonly jobId: string;
}

/** Names that stand for facts of the item; a column of the same name comes first. */
const RESERVED = ['item_id', 'row_index', 'job_id'] as const;
const RAW_SUFFIX = '!raw';
/** Names in an error, and characters of each. */
const MAX_TOLD_NAMES = 20;
const MAX_TOLD_CHARS = 100;

/** Piece of a template: a text as it is, or the place of a value. */
export type TemplatePart =
	| {readonly kind: 'text'; readonly text: string}
	| {readonly kind: 'value'; readonly name: string; readonly isRaw: boolean};

/** Options of a template. */
export interface TemplateOptions {
	/** Names of the columns; undefined if rows have different ones, as JSON lines may. */
	readonly columns: readonly string[] | undefined;
	/** Whether a name that is no column is an error, or stays as it is. */
	readonly unknown: 'refuse' | 'keep';
}

/**
 * A text with `{column}` in it, `{{` and `}}` for braces. Read once from left to right, so that nothing in a value is
 * expanded again.
 */
export class Template {
	readonly parts: readonly TemplatePart[];

	constructor(text: string, options: TemplateOptions) {
		this.parts = [...parseParts(text, options)];
	}

	/** `insert` turns a value into the text in its place, unless the name has `!raw` behind it. */
	render(values: TemplateValues, insert: (text: string) => string = text => text): string {
		const expand = (part: TemplatePart): string => {
			if (part.kind === 'text') return part.text;
			const text = valueOf(part.name, values);
			return part.isRaw ? text : insert(text);
		};
		return this.parts.map(expand).join('');
	}
}

/** A value as one word of a POSIX shell. */
export function quoteForShell(text: string): string {
	return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

interface KnownNames {
	readonly columns: ReadonlySet<string> | undefined;
	readonly unknown: TemplateOptions['unknown'];
}

function* parseParts(text: string, {columns, unknown}: TemplateOptions): Generator<TemplatePart> {
	const names: KnownNames = {columns: columns && new Set(columns), unknown};
	const lastEnd = text.lastIndexOf('}');
	let literal = '';
	for (let at = 0; at < text.length; ) {
		const two = text.slice(at, at + 2);
		if (two === '{{' || two === '}}') {
			literal += two[0];
			at += 2;
			continue;
		}
		const end = text[at] === '{' && at < lastEnd ? text.indexOf('}', at) : -1;
		const value = end < 0 ? undefined : readName(text.slice(at + 1, end), names);
		if (!value) {
			literal += text[at];
			at++;
			continue;
		}
		if (literal !== '') yield {kind: 'text', text: literal};
		literal = '';
		yield value;
		at = end + 1;
	}
	if (literal !== '') yield {kind: 'text', text: literal};
}

/** Undefined for a name that stays as it is. */
function readName(inside: string, {columns, unknown}: KnownNames): TemplatePart | undefined {
	const isKnown = (name: string): boolean => columns?.has(name) || (RESERVED as readonly string[]).includes(name);
	if (isKnown(inside)) return {kind: 'value', name: inside, isRaw: false};
	const isRaw = inside.endsWith(RAW_SUFFIX);
	const name = isRaw ? inside.slice(0, -RAW_SUFFIX.length) : inside;
	if (isKnown(name)) return {kind: 'value', name, isRaw};
	if (columns === undefined && /^[^{}]+$/.test(name)) return {kind: 'value', name, isRaw};
	if (unknown === 'keep') return undefined;
	const known = [...(columns ?? []), ...RESERVED].slice(0, MAX_TOLD_NAMES).map(each => `{${shorten(each)}}`);
	throw new JobInputError(
		`the template has {${shorten(inside)}}, which is no column; known are ${known.join(', ')}; write {{ for a brace`,
	);
}

/** The value that a name stands for. */
export function valueOf(name: string, {row, itemId, rowIndex, jobId}: TemplateValues): string {
	if (Object.hasOwn(row, name)) return toText(row[name]);
	if (name === 'item_id') return itemId;
	if (name === 'row_index') return String(rowIndex);
	if (name === 'job_id') return jobId;
	return '';
}

function shorten(name: string): string {
	return name.length <= MAX_TOLD_CHARS ? name : `${name.slice(0, MAX_TOLD_CHARS)}...`;
}

/** Texts as they are; anything else as JSON. */
export function toText(value: unknown): string {
	if (typeof value === 'string') return value;
	return value === undefined || value === null ? '' : JSON.stringify(value);
}
