import * as v from 'valibot';
import {parseYaml} from './yaml-subset.js';

/** Characters in the name of a skill. */
const MAX_NAME_CHARS = 64;
/** Characters in the name of a skill with that of its plugin. */
const MAX_QUALIFIED_NAME_CHARS = 2 * MAX_NAME_CHARS + 1;
/** Characters in a text about a tool that a skill depends on. */
const MAX_TEXT_CHARS = 1024;
const MAX_PORT = 65_535;
/** Not after a byte order mark, which `\s` includes. */
const HEADER_END = /^[ \t]*---[ \t]*\r?$/;
const PRODUCTS = ['chatgpt', 'codex', 'atlas'];

export interface SkillHeader {
	readonly name: string;
	readonly description: string;
	readonly shortDescription: string | null;
}

/** Facts of `agents/openai.yaml` beside a skill. */
export interface SkillMetadata {
	readonly dependencies: {readonly tools: readonly object[]} | null;
	readonly policy: {readonly allowImplicitInvocation: boolean | null; readonly products: readonly string[]} | null;
}

const scalar = v.nullish(v.string(), null);
const headerSchema = v.object({
	name: scalar,
	description: scalar,
	metadata: v.nullish(v.object({'short-description': scalar})),
});
const port = v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number), v.maxValue(MAX_PORT));
const flag = v.pipe(
	v.picklist(['true', 'false']),
	v.transform(text => text === 'true'),
);
const product = v.pipe(
	v.string(),
	v.transform(text => (text === text.toUpperCase() ? text.toLowerCase() : text)),
	v.picklist(PRODUCTS),
);
const toolSchema = v.object({
	type: scalar,
	value: scalar,
	description: scalar,
	transport: scalar,
	command: scalar,
	url: scalar,
	oauth: v.nullish(v.object({callbackPort: v.nullish(port), callback_port: v.nullish(port)})),
});
const metadataSchema = v.object({
	dependencies: v.nullish(v.object({tools: v.optional(v.array(toolSchema), [])})),
	policy: v.nullish(
		v.object({allow_implicit_invocation: v.nullish(flag, null), products: v.optional(v.array(product), [])}),
	),
});

/** Reads the header of a `SKILL.md`; throws if it has none, or one without a description. */
export function parseSkillHeader(text: string, directoryName: string, namespace: string | undefined): SkillHeader {
	const header = v.parse(headerSchema, parseYaml(extractHeader(text)));
	const ownName = toLine(header.name) || toLine(directoryName) || 'skill';
	const name = namespace === undefined ? ownName : `${namespace}:${ownName}`;
	const description = toLine(header.description);
	if (description === '') throw new Error('there is no description');
	if (countChars(ownName) > MAX_NAME_CHARS || countChars(name) > MAX_QUALIFIED_NAME_CHARS) {
		throw new Error('the name is too long');
	}
	return {name, description, shortDescription: toLine(header.metadata?.['short-description']) || null};
}

/** Reads `agents/openai.yaml`; throws if it is not understood. */
export function parseSkillMetadata(text: string): SkillMetadata {
	const {dependencies, policy} = v.parse(metadataSchema, parseYaml(text) ?? {});
	const tools = (dependencies?.tools ?? []).flatMap(toTool);
	return {
		dependencies: tools.length > 0 ? {tools} : null,
		policy: policy ? {allowImplicitInvocation: policy.allow_implicit_invocation, products: policy.products} : null,
	};
}

function toTool(tool: v.InferOutput<typeof toolSchema>): object[] {
	const [type, value] = [toText(tool.type, MAX_NAME_CHARS), toText(tool.value)];
	if (type === null || value === null) return [];
	return [
		{
			type,
			value,
			description: toText(tool.description),
			transport: toText(tool.transport, MAX_NAME_CHARS),
			command: toText(tool.command),
			url: toText(tool.url),
			oauthCallbackPort: tool.oauth?.callbackPort ?? tool.oauth?.callback_port ?? null,
		},
	];
}

/** The lines between the first one, which is `---`, and the next one like it. */
function extractHeader(text: string): string {
	const lines = text.split('\n');
	const end = lines.findIndex((line, index) => index > 0 && HEADER_END.test(line));
	if (end < 2 || !HEADER_END.test(lines[0]!)) throw new Error('there is no header');
	return lines.slice(1, end).join('\n');
}

function toText(text: string | null, maxChars = MAX_TEXT_CHARS): string | null {
	const line = toLine(text);
	return line === '' || countChars(line) > maxChars ? null : line;
}

function toLine(text: string | null | undefined): string {
	return (text ?? '').trim().split(/\s+/).join(' ');
}

function countChars(text: string): number {
	return Array.from(text).length;
}
