import * as v from 'valibot';
import {decodeBase64} from '../../shared/base64.js';
import {errorMessage} from '../../shared/errors.js';
import {PathUri} from '../path-uri/path-uri.js';
import {ByteBlocks} from './binary-payload.js';

/** Schema of the params or the result of a method. */
export type Schema = v.GenericSchema;

const isWindows = (globalThis as {process?: {platform?: string}}).process?.platform === 'win32';

/** An unsigned integer. Sequence numbers and offsets fit in 2^53; larger values are accepted and rounded. */
export const u64 = v.pipe(
	v.number(),
	v.check(value => Number.isInteger(value) && value >= 0, 'invalid number, expected an unsigned integer'),
	v.title('u64'),
);

/** A base64 string, or the bytes that a transport has already decoded from it. */
export const base64Text = createTextOrBytes();

/** Base64 on the wire, bytes in the program. */
export const bytes = v.pipe(base64Text, decodeWith(toBytes), v.title('Base64'));

/** A `file:` URI or an absolute native path on the wire. */
export const pathUri = v.pipe(
	v.string(),
	decodeWith(text => PathUri.parse(text, isWindows ? 'windows' : 'posix')),
	v.title('PathUri'),
);

/** Names and values. Not `v.record`, which leaves out names such as `constructor`. */
export const stringMap = v.pipe(
	v.custom<Readonly<Record<string, string>>>(
		input =>
			typeof input === 'object' &&
			input !== null &&
			!Array.isArray(input) &&
			Object.values(input).every(value => typeof value === 'string'),
		'invalid type, expected a map of strings',
	),
	v.title('Record<string, string>'),
);

/** The params of a method that takes none: omitted, `null` or `{}`. */
export const unit = v.pipe(
	v.custom<Record<string, never> | null | undefined>(
		input =>
			input === undefined ||
			input === null ||
			(typeof input === 'object' && !Array.isArray(input) && Object.keys(input).length === 0),
		'invalid type, expected no params',
	),
	v.title('none'),
);

/** Params that are ignored. */
export const anything = v.pipe(v.unknown(), v.title('anything'));

/** The empty object. */
export const empty = v.object({});

/** A member that may be omitted or `null`; both mean absent. */
export function optionalField<const S extends Schema>(schema: S): v.NullishSchema<S, undefined> {
	return v.nullish(schema);
}

/** Throws a `Base64Error` for text that is not canonical base64. */
export function toBytes(input: string | Uint8Array | ByteBlocks): Uint8Array {
	if (typeof input === 'string') return decodeBase64(input);
	return input instanceof ByteBlocks ? input.join() : input;
}

/** A string schema that also accepts bytes; its error texts are those of a string schema. */
function createTextOrBytes(): v.GenericSchema<string | Uint8Array | ByteBlocks> {
	const text: v.GenericSchema<string | Uint8Array | ByteBlocks> = v.string();
	return {
		...text,
		'~run': (dataset, config) => {
			const {value} = dataset;
			const isBytes = value instanceof Uint8Array || value instanceof ByteBlocks;
			return isBytes ? {typed: true, value} : text['~run'](dataset, config);
		},
	};
}

function decodeWith<I, T>(decode: (input: I) => T): v.RawTransformAction<I, T> {
	return v.rawTransform<I, T>(({dataset, addIssue, NEVER}) => {
		try {
			return decode(dataset.value);
		} catch (error) {
			addIssue({message: errorMessage(error)});
			return NEVER;
		}
	});
}
