import * as fc from 'fast-check';
import * as v from 'valibot';
import {describe, expect, test} from 'vitest';
import {METHODS} from '../../../src/protocol/methods/method-table.js';
import {decoderOf, NOT_DECODED} from '../../../src/protocol/wire/compiled-decoder.js';
import type {Schema} from '../../../src/protocol/wire/fields.js';

/** Parts of the schemas that occur in the table. */
interface Parts {
	readonly type: string;
	readonly pipe?: readonly Parts[];
	readonly entries?: Readonly<Record<string, Parts>>;
	readonly wrapped?: Parts;
	readonly item?: Parts;
	readonly key?: string;
	readonly options?: readonly unknown[];
	readonly literal?: unknown;
	readonly title?: string;
}

const SCHEMAS = Object.entries(METHODS).flatMap(([name, {params, result}]): [string, Schema][] => [
	[`${name} params`, params],
	[`${name} result`, result],
]);

describe('a compiled decoder', () => {
	test.each(SCHEMAS)('accepts what the schema accepts, and gives the same: %s', (_name, schema) => {
		const decoder = decoderOf(schema);
		fc.assert(
			fc.property(inputOf(schema as unknown as Parts), input => {
				const {success, output} = v.safeParse(schema, input, {abortEarly: true});
				const expected: unknown = success ? output : NOT_DECODED;
				const decoded = decoder(input);
				expect(decoded).toStrictEqual(expected);
				expect(namesOf(decoded)).toEqual(namesOf(expected));
			}),
			{numRuns: 200},
		);
	});

	test('tells a missing member with a default from one that is null', () => {
		const decoder = decoderOf(METHODS['fs/getMetadata'].params);
		expect(decoder({path: 'file:///a', sandbox: null})).toMatchObject({followSymlinks: true, sandbox: null});
		expect(Object.keys(decoder({path: 'file:///a'}) as object)).toEqual(['path', 'followSymlinks']);
	});

	test('leaves a schema that falls back to a value to the schema', () => {
		const schema = v.object({size: v.fallback(v.number(), 7)});
		expect(decoderOf(schema)({size: 'large'})).toEqual({size: 7});
		expect(decoderOf(schema)({})).toEqual({size: 7});
	});

	test('asks a default that is a function every time', () => {
		let count = 0;
		const decoder = decoderOf(v.object({id: v.optional(v.number(), () => ++count)}));
		expect([decoder({}), decoder({})]).toEqual([{id: 1}, {id: 2}]);
	});
});

/** Members in their order. */
function namesOf(value: unknown): string[] {
	return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

/** Mostly inputs that the schema takes, with members left out, replaced and added. */
function inputOf(schema: Parts): fc.Arbitrary<unknown> {
	return fc.oneof({weight: 9, arbitrary: valueOf(schema)}, {weight: 1, arbitrary: fc.jsonValue({maxDepth: 2})});
}

function valueOf(schema: Parts): fc.Arbitrary<unknown> {
	const titled = schema.pipe?.find(({title}) => title === 'PathUri');
	if (titled) return pathText();
	if (schema.pipe) return inputOf(schema.pipe[0]!);
	switch (schema.type) {
		case 'object':
			return fc.record(
				Object.fromEntries(Object.entries(schema.entries!).map(([key, member]) => [key, inputOf(member)])),
				{requiredKeys: requiredOf(schema.entries!)},
			);
		case 'nullish':
			return fc.oneof(fc.constantFrom(null, undefined), inputOf(schema.wrapped!));
		case 'nullable':
			return fc.oneof(fc.constant(null), inputOf(schema.wrapped!));
		case 'optional':
			return fc.oneof(fc.constant(undefined), inputOf(schema.wrapped!));
		case 'array':
			return fc.array(inputOf(schema.item!), {maxLength: 3});
		case 'variant':
		case 'union':
			return fc.oneof(...(schema.options as readonly Parts[]).map(inputOf));
		case 'picklist':
			return fc.constantFrom(...schema.options!);
		case 'literal':
			return fc.constant(schema.literal);
		case 'boolean':
			return fc.boolean();
		case 'number':
			return fc.oneof(fc.nat(), fc.double());
		case 'string':
			return fc.oneof(fc.string(), fc.constant('YWJj'), fc.constant(new Uint8Array([1, 2])));
		default:
			return fc.jsonValue({maxDepth: 2});
	}
}

function requiredOf(entries: Readonly<Record<string, Parts>>): string[] {
	return Object.keys(entries).filter(key => !['optional', 'nullish'].includes(entries[key]!.type));
}

function pathText(): fc.Arbitrary<string> {
	return fc.constantFrom('file:///a/b.ts', 'file:///a/../b', 'file:///%41', '/tmp/x', 'relative', 'http://host/', '');
}
