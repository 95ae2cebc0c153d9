import type * as v from 'valibot';
import type {Schema} from './fields.js';

/** Result of a decoder for an input that it does not accept: the schema itself says what is wrong with it. */
export const NOT_DECODED = Symbol('not decoded');

/** Decoded value with defaults, or `NOT_DECODED`. */
export type Decoder = (input: unknown) => unknown;

const CONFIG = {abortEarly: true} as const;
/** Types whose member may be missing. */
const OPTIONAL_TYPES: ReadonlySet<string> = new Set(['optional', 'nullish']);

/** Parts of a schema that decide how it is compiled. */
interface Parts extends Schema {
	readonly pipe?: readonly (Schema | v.GenericPipeItem)[];
	readonly entries?: Readonly<Record<string, Schema>>;
	readonly wrapped?: Schema;
	readonly default?: unknown;
	readonly fallback?: unknown;
}

/** Step of a pipe behind its first schema. */
type Action = v.BaseTransformation<unknown, unknown, v.BaseIssue<unknown>>;

interface Entry {
	readonly key: string;
	readonly decode: Decoder;
	readonly isOptional: boolean;
	readonly default: unknown;
}

const decoders = new WeakMap<Schema, Decoder>();

/**
 * The decoder of a schema, made of it once. It walks plain values without the bookkeeping that errors need, which is most
 * of the work of a schema on a server that has just started; anything it has no short way for is left to the schema's own.
 */
export function decoderOf(schema: Schema): Decoder {
	let decoder = decoders.get(schema);
	if (!decoder) {
		decoder = compile(schema);
		decoders.set(schema, decoder);
	}
	return decoder;
}

function compile(schema: Parts): Decoder {
	if (schema.fallback !== undefined || schema.async) return runSchema(schema);
	if (schema.pipe) return compilePipe(schema.pipe);
	if (OPTIONAL_TYPES.has(schema.type) && schema.wrapped) return compileOptional(schema, schema.wrapped);
	switch (schema.type) {
		case 'object':
			return schema.entries ? compileObject(schema, schema.entries) : runSchema(schema);
		case 'string':
		case 'boolean':
			return acceptType(schema.type, runSchema(schema));
		default:
			return runSchema(schema);
	}
}

/** The schema's own way. */
function runSchema(schema: Schema): Decoder {
	return input => settle(schema['~run']({value: input}, CONFIG));
}

function settle(dataset: v.OutputDataset<unknown, v.BaseIssue<unknown>>): unknown {
	return dataset.issues ? NOT_DECODED : dataset.value;
}

/** A schema of this type may take more than the type itself. */
function acceptType(type: 'string' | 'boolean', otherwise: Decoder): Decoder {
	return input => (typeof input === type ? input : otherwise(input));
}

function compilePipe([first, ...items]: NonNullable<Parts['pipe']>): Decoder {
	const decodeFirst = compile(first as Schema);
	const actions = items.filter(({kind}) => kind !== 'metadata') as Action[];
	if (actions.length === 0) return decodeFirst;
	return input => {
		let value = decodeFirst(input);
		for (const action of actions) {
			if (value === NOT_DECODED) return NOT_DECODED;
			value = settle(action['~run']({typed: true, value}, CONFIG));
		}
		return value;
	};
}

function compileOptional(schema: Parts, wrapped: Schema): Decoder {
	if (typeof schema.default === 'function') return runSchema(schema);
	const decode = compile(wrapped);
	const takesNull = schema.type === 'nullish';
	return input => {
		const isAbsent = input === undefined || (takesNull && input === null);
		if (!isAbsent) return decode(input);
		return schema.default === undefined ? input : decode(schema.default);
	};
}

function compileObject(schema: Schema, members: Readonly<Record<string, Parts>>): Decoder {
	if (Object.values(members).some(({fallback}) => fallback !== undefined)) return runSchema(schema);
	const entries = Object.entries(members).map(
		([key, member]): Entry => ({
			key,
			decode: compile(member),
			isOptional: OPTIONAL_TYPES.has(member.type) && member.pipe === undefined,
			default: member.default,
		}),
	);
	return input => {
		if (typeof input !== 'object' || input === null) return NOT_DECODED;
		const output: Record<string, unknown> = {};
		for (const {key, decode, isOptional, default: fallback} of entries) {
			if (key in input || (isOptional && fallback !== undefined)) {
				const value = decode((input as Readonly<Record<string, unknown>>)[key]);
				if (value === NOT_DECODED) return NOT_DECODED;
				output[key] = value;
			} else if (!isOptional) {
				return NOT_DECODED;
			}
		}
		return output;
	};
}
