import {DEFAULT_EXEC_YIELD_MS, DEFAULT_WRITE_YIELD_MS} from './exec-limits.js';
import {JsonReadError, JsonReader, type JsonToken} from './json-reader.js';
import {ToolFailure} from './tool-failures.js';

const EXPECTED = {string: 'a string', boolean: 'a boolean', u64: 'u64', usize: 'usize', i32: 'i32'} as const;
const RANGES = {u64: [0, 2 ** 64], usize: [0, 2 ** 64], i32: [-(2 ** 31), 2 ** 31 - 1]} as const;

/** Arguments from a model: JSON text, or the parsed object. */
export type ToolArguments = string | Readonly<Record<string, unknown>>;

export interface ExecCommandArguments {
	readonly cmd: string;
	readonly workdir: string | undefined;
	readonly shell: string | undefined;
	readonly login: boolean | undefined;
	readonly tty: boolean;
	readonly yieldTimeMs: number;
	readonly maxOutputTokens: number | undefined;
	readonly environmentId: string | undefined;
}

export interface WriteStdinArguments {
	readonly sessionId: number;
	readonly chars: string;
	readonly yieldTimeMs: number;
	readonly maxOutputTokens: number | undefined;
}

export function parseExecCommand(given: ToolArguments): ExecCommandArguments {
	const read = readFields(given, 'ExecCommandArgs', {
		cmd: {type: 'string', presence: 'required'},
		workdir: {type: 'string', presence: 'nullable'},
		shell: {type: 'string', presence: 'nullable'},
		login: {type: 'boolean', presence: 'nullable'},
		tty: {type: 'boolean', presence: 'optional'},
		yield_time_ms: {type: 'u64', presence: 'optional'},
		max_output_tokens: {type: 'usize', presence: 'nullable'},
		environment_id: {type: 'string', presence: 'nullable'},
	});
	return {
		cmd: read['cmd'] as string,
		workdir: read['workdir'] as string | undefined,
		shell: read['shell'] as string | undefined,
		login: read['login'] as boolean | undefined,
		tty: (read['tty'] as boolean | undefined) ?? false,
		yieldTimeMs: (read['yield_time_ms'] as number | undefined) ?? DEFAULT_EXEC_YIELD_MS,
		maxOutputTokens: read['max_output_tokens'] as number | undefined,
		environmentId: read['environment_id'] as string | undefined,
	};
}

export function parseWriteStdin(given: ToolArguments): WriteStdinArguments {
	const read = readFields(given, 'WriteStdinArgs', {
		session_id: {type: 'i32', presence: 'required'},
		chars: {type: 'string', presence: 'optional'},
		yield_time_ms: {type: 'u64', presence: 'optional'},
		max_output_tokens: {type: 'usize', presence: 'nullable'},
	});
	return {
		sessionId: read['session_id'] as number,
		chars: (read['chars'] as string | undefined) ?? '',
		yieldTimeMs: (read['yield_time_ms'] as number | undefined) ?? DEFAULT_WRITE_YIELD_MS,
		maxOutputTokens: read['max_output_tokens'] as number | undefined,
	};
}

/** `json` takes any value. */
type FieldType = keyof typeof EXPECTED | 'json';
/** Type and presence of an argument; a nullable one may be null or absent. */
export type ArgumentField = {readonly type: FieldType; readonly presence: 'required' | 'optional' | 'nullable'};

/**
 * Members of the arguments. Unknown ones are skipped. Throws a `ToolFailure` with the first error in the order of the text;
 * `name` is upstream's for the type of the arguments.
 */
export function readFields(
	given: ToolArguments,
	name: string,
	fields: Readonly<Record<string, ArgumentField>>,
): Record<string, unknown> {
	const reader = new JsonReader(typeof given === 'string' ? given : JSON.stringify(given));
	const found = new Map<string, unknown>();
	try {
		if (reader.peek() !== '{') throw invalidTypeError(reader, reader.readScalar(), `struct ${name}`);
		reader.readObject(
			key => {
				const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
				if (field) found.set(key, readValue(reader, field));
				else reader.skipValue();
			},
			key => {
				if (found.has(key)) throw reader.errorHere(`duplicate field \`${key}\``);
			},
		);
		for (const [key, {presence}] of Object.entries(fields)) {
			if (presence === 'required' && !found.has(key)) throw reader.errorHere(`missing field \`${key}\``);
		}
		reader.expectEnd();
	} catch (error) {
		if (!(error instanceof JsonReadError)) throw error;
		throw new ToolFailure(`failed to parse function arguments: ${error.message}`);
	}
	return Object.fromEntries(found);
}

function readValue(reader: JsonReader, {type, presence}: ArgumentField): unknown {
	if (type === 'json') return reader.readValue();
	const token = reader.readScalar();
	if (token.kind === 'null' && presence === 'nullable') return undefined;
	if (type === 'string' || type === 'boolean') {
		if (token.kind === type) return token.value;
		throw invalidTypeError(reader, token, EXPECTED[type]);
	}
	if (token.kind !== 'integer') throw invalidTypeError(reader, token, EXPECTED[type]);
	const [min, max] = RANGES[type];
	if (token.value >= min && token.value <= max) return token.value;
	throw reader.errorHere(`invalid value: ${describeToken(token)}, expected ${EXPECTED[type]}`);
}

function invalidTypeError(reader: JsonReader, token: JsonToken, expected: string): JsonReadError {
	return reader.errorHere(`invalid type: ${describeToken(token)}, expected ${expected}`);
}

function describeToken(token: JsonToken): string {
	switch (token.kind) {
		case 'string':
			return `string ${JSON.stringify(token.value)}`;
		case 'integer':
			return `integer \`${token.text}\``;
		case 'float':
			return `floating point \`${Number.isInteger(token.value) ? `${token.value}.0` : token.value}\``;
		case 'boolean':
			return `boolean \`${token.value}\``;
		case 'null':
		case 'sequence':
		case 'map':
			return token.kind;
	}
}
