import * as v from 'valibot';
import {decoderOf, NOT_DECODED} from './compiled-decoder.js';
import {INVALID_PARAMS, RpcError} from './error-codes.js';
import type {Schema} from './fields.js';
import {truncateText} from './strict-json.js';

/** Characters of an unknown name that are quoted in an error. */
const MAX_QUOTED_CHARS = 64;
/** Schema types with a fixed set of alternatives. */
const CHOICE_TYPES: ReadonlySet<string> = new Set(['picklist', 'literal', 'variant', 'union']);

/**
 * Checks params (or a result) against its schema and returns it decoded, with defaults.
 * An array is read as the members in their declared order, as upstream does.
 */
export function decode<const S extends Schema>(schema: S, input: unknown): v.InferOutput<S> {
	const decoded = Array.isArray(input) ? NOT_DECODED : decoderOf(schema)(input);
	if (decoded !== NOT_DECODED) return decoded;
	const parsed = v.safeParse(schema, Array.isArray(input) ? assignByPosition(schema, input) : input, {
		abortEarly: true,
	});
	if (parsed.success) return parsed.output;
	throw new RpcError(INVALID_PARAMS, formatIssue(parsed.issues[0]));
}

function assignByPosition(schema: Schema, input: readonly unknown[]): unknown {
	const entries = (schema as {entries?: Record<string, unknown>}).entries;
	const names = Object.keys(entries ?? {});
	if (!entries || input.length > names.length) return input;
	return Object.fromEntries(input.map((value, index) => [names[index]!, value]));
}

function formatIssue(issue: v.BaseIssue<unknown>): string {
	const keys = (issue.path ?? []).map(item => String(item.key));
	if (issue.type === 'strict_object' && issue.expected === 'never') return `unknown field \`${quoteKeys(keys)}\``;
	if (issue.received === 'undefined' && keys.length > 0) return `missing field \`${keys.join('.')}\``;
	const location = keys.length > 0 ? ` at \`${keys.join('.')}\`` : '';
	return formatMismatch(issue) + location;
}

/** The names come from the input. */
function quoteKeys(keys: readonly string[]): string {
	return truncateText(keys.join('.'), MAX_QUOTED_CHARS);
}

function formatMismatch(issue: v.BaseIssue<unknown>): string {
	if (CHOICE_TYPES.has(issue.type)) {
		const expected = (issue.expected ?? '')
			.replaceAll('"', '`')
			.replaceAll(' | ', ', ')
			.replace(/^\((.*)\)$/, '$1');
		return `unknown variant ${formatInput(issue.input)}, expected one of ${expected}`;
	}
	if (issue.kind === 'schema' && issue.type !== 'custom') {
		return `invalid type: ${nameKind(issue.input)}, expected ${formatExpectation(issue.expected)}`;
	}
	return issue.message;
}

function formatInput(input: unknown): string {
	return typeof input === 'string' ? `\`${truncateText(input, MAX_QUOTED_CHARS)}\`` : nameKind(input);
}

function nameKind(input: unknown): string {
	if (input === undefined || input === null) return 'null';
	if (Array.isArray(input)) return 'sequence';
	if (typeof input === 'object') return 'map';
	return typeof input;
}

function formatExpectation(expected: string | null): string {
	if (expected === 'Object') return 'a map';
	if (expected === 'Array') return 'a sequence';
	return `a ${expected ?? 'value'}`;
}
