import {isDeepStrictEqual} from 'node:util';
import {type JsonMember, type JsonNode, type JsonOptions, parseJsonNodes} from './json-nodes.js';
import {applyEdit, lineEndOf, type TextEdit, UneditableError} from './text-edit.js';

const DEFAULT_INDENT = '  ';

/** Place of an entry: names of objects from the outermost on. */
export type JsonPath = readonly string[];

/** The value at a path; undefined if there is none. */
export function readJsonEntry(text: string, path: JsonPath, options: JsonOptions): unknown {
	let node = parseJsonNodes(text, options);
	for (const name of path) node = findMember(requireObject(node, name), name)?.node;
	return node?.value;
}

/** The edit that puts a value at a path, in the layout of the text; throws an `UneditableError` where that cannot be done. */
export function setJsonEntry(text: string, path: JsonPath, value: unknown, options: JsonOptions): TextEdit {
	const edit = makeEdit(text, path, value, options);
	verify(text, edit, withValue(parseJsonNodes(text, options)?.value, path, value), options);
	return edit;
}

/** The edit that takes the entry at a path out, with its comma; undefined if there is none. */
export function removeJsonEntry(text: string, path: JsonPath, options: JsonOptions): TextEdit | undefined {
	const root = parseJsonNodes(text, options);
	const name = path.at(-1)!;
	let parent = root;
	for (const above of path.slice(0, -1)) parent = findMember(requireObject(parent, above), above)?.node;
	const members = requireObject(parent, name) ?? [];
	const place = members.findIndex(({key}) => key === name);
	if (place < 0) return undefined;
	const edit = cutMember(text, parent!, members, place);
	verify(text, edit, withValue(root!.value, path, undefined), options);
	return edit;
}

function makeEdit(text: string, path: JsonPath, value: unknown, options: JsonOptions): TextEdit {
	const layout = findLayout(text, options);
	const root = parseJsonNodes(text, options);
	if (!root) {
		const whole = format(withValue({}, path, value), layout, 0);
		return {start: text.length, end: text.length, text: `${whole}${layout.lineEnd}`};
	}
	let node: JsonNode = root;
	for (const [at, name] of path.entries()) {
		const depth = at + 1;
		const child: JsonNode | undefined = findMember(requireObject(node, name), name)?.node;
		if (!child) return addMember(text, node, name, withValue({}, path.slice(depth), value), {...layout, depth});
		node = child;
	}
	return {start: node.start, end: node.end, text: format(value, layout, path.length)};
}

/** A value with another at a path; without the member if that is undefined. */
function withValue(whole: unknown, [name, ...rest]: JsonPath, value: unknown): unknown {
	if (name === undefined) return value;
	const {[name]: own, ...others} = (whole ?? {}) as Record<string, unknown>;
	const changed = withValue(own, rest, value);
	return changed === undefined ? others : {...others, [name]: changed};
}

interface Layout {
	readonly indent: string;
	readonly lineEnd: string;
	/** Whether everything is on one line. */
	readonly isCompact: boolean;
}

/** Indentation is that of the first name in the outermost object. */
function findLayout(text: string, options: JsonOptions): Layout {
	const lineEnd = lineEndOf(text);
	const root = parseJsonNodes(text, options);
	const first = root?.members?.[0];
	if (!root || !first) return {indent: DEFAULT_INDENT, lineEnd, isCompact: false};
	const lead = /\n([ \t]*)$/.exec(text.slice(root.start, first.start));
	return {
		indent: lead?.[1] || DEFAULT_INDENT,
		lineEnd,
		isCompact: !lead && !text.slice(root.start, root.end).includes('\n'),
	};
}

function addMember(
	text: string,
	parent: JsonNode,
	key: string,
	value: unknown,
	layout: Layout & {readonly depth: number},
): TextEdit {
	const {indent, lineEnd, isCompact, depth} = layout;
	const last = parent.members!.at(-1);
	const content = `${JSON.stringify(key)}:${isCompact ? '' : ' '}${format(value, layout, depth)}`;
	const own = isCompact ? '' : `${lineEnd}${indent.repeat(depth)}`;
	if (last) {
		const at = last.node.end;
		// A comma behind the last entry stays where it is: the new entry takes it over.
		return {start: at, end: at, text: `,${own}${content}`};
	}
	const closing = parent.end - 1;
	const inside = text.slice(parent.start + 1, closing);
	const hasOwnLine = /\n[ \t]*$/.test(inside);
	if (!hasOwnLine)
		return {
			start: closing,
			end: closing,
			text: `${own}${content}${isCompact ? '' : lineEnd + indent.repeat(depth - 1)}`,
		};
	const at = parent.start + 1 + inside.search(/\r?\n[ \t]*$/);
	return {start: at, end: at, text: `${own}${content}`};
}

/** With the comma before it, or behind it if it is the first, and the blanks in front of it. */
function cutMember(text: string, parent: JsonNode, members: readonly JsonMember[], place: number): TextEdit {
	const {start, node} = members[place]!;
	const previous = members[place - 1];
	const next = members[place + 1];
	if (previous)
		return {start: previous.node.end, end: node.end, text: keepComments(text.slice(previous.node.end, start))};
	if (next) return {start, end: next.start, text: keepComments(text.slice(node.end, next.start))};
	const isAlone =
		/^\s*,?\s*$/.test(text.slice(node.end, parent.end - 1)) && /^\s*$/.test(text.slice(parent.start + 1, start));
	return isAlone ? {start: parent.start + 1, end: parent.end - 1, text: ''} : {start, end: node.end, text: ''};
}

/** The text between two entries without its comma; empty if there are only blanks. */
function keepComments(between: string): string {
	const rest = between.replace(',', '');
	return rest.trim() === '' ? '' : rest;
}

function format(value: unknown, {indent, lineEnd, isCompact}: Layout, depth: number): string {
	if (isCompact) return JSON.stringify(value);
	return JSON.stringify(value, undefined, indent).replaceAll('\n', `${lineEnd}${indent.repeat(depth)}`);
}

/** Nothing is written unless the new text means exactly what it should. */
function verify(text: string, edit: TextEdit, expected: unknown, options: JsonOptions): void {
	const after = parseJsonNodes(applyEdit(text, edit), options);
	if (!isDeepStrictEqual(after?.value, expected)) {
		throw new UneditableError('it is laid out in a way that cannot be edited for you; edit it by hand');
	}
}

function requireObject(node: JsonNode | undefined, name: string): readonly JsonMember[] | undefined {
	if (node && !node.members)
		throw new UneditableError(`\`${name}\` would have to be in an object, and there is something else`);
	return node?.members;
}

function findMember(members: readonly JsonMember[] | undefined, name: string): JsonMember | undefined {
	return members?.find(({key}) => key === name);
}
