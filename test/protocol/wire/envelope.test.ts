import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {encodeError, encodeNotification, encodeRequest, encodeResult} from '../../../src/protocol/wire/encode.js';
import {parseMessage, type RequestId} from '../../../src/protocol/wire/envelope.js';

const I64_MAX = 2n ** 63n - 1n;
const I64_MIN = -(2n ** 63n);

test.each([
	[
		'method and id make a request',
		'{"method":"m","id":1,"params":[1]}',
		{kind: 'request', id: 1, method: 'm', params: [1], trace: undefined},
	],
	[
		'whatever else is there',
		'{"result":1,"error":2,"method":"m","id":"x"}',
		{kind: 'request', id: 'x', method: 'm', params: undefined, trace: undefined},
	],
	[
		'a method alone makes a notification',
		'{"method":"m","params":null}',
		{kind: 'notification', method: 'm', params: null},
	],
	['also beside a result', '{"method":"m","result":1}', {kind: 'notification', method: 'm', params: undefined}],
	['a result makes a response', '{"id":1,"result":{"a":1}}', {kind: 'response', id: 1, result: {a: 1}}],
	['even one that is null', '{"id":1,"result":null}', {kind: 'response', id: 1, result: null}],
	[
		'even beside an error',
		'{"id":1,"error":{"code":1,"message":"x"},"result":2}',
		{kind: 'response', id: 1, result: 2},
	],
	[
		'the rest is an error reply',
		'{"id":"a","error":{"code":-5,"message":"x"}}',
		{kind: 'error', id: 'a', error: {code: -5, message: 'x', data: undefined}},
	],
	[
		'with or without data',
		'{"id":1,"error":{"code":-5,"message":"x","data":[1]}}',
		{kind: 'error', id: 1, error: {code: -5, message: 'x', data: [1]}},
	],
])('classification: %s', (_, text, message) => {
	expect(parseMessage(text)).toEqual(message);
});

test.each(['2.0', '1.0', 7])('the member jsonrpc is ignored, also when it is %s', jsonrpc => {
	expect(parseMessage(JSON.stringify({jsonrpc, id: 1, method: 'm', other: {}}))).toEqual({
		kind: 'request',
		id: 1,
		method: 'm',
		params: undefined,
		trace: undefined,
	});
});

test.each([
	['', /\S/],
	['{"id":1,"method":"m"', /\S/],
	['{"id":1,"method":"m"}{"id":2,"method":"m"}', /\S/],
	['\uFEFF{"id":1,"method":"m"}', /\S/],
	['[]', /^expected a JSON-RPC object$/],
	['[{"id":1,"method":"m"}]', /^expected a JSON-RPC object$/],
	['null', /^expected a JSON-RPC object$/],
	['"text"', /^expected a JSON-RPC object$/],
	['12', /^expected a JSON-RPC object$/],
	['{}', /^missing field `error`$/],
	['{"id":1}', /^missing field `error`$/],
	['{"result":1}', /^missing field `id`$/],
	['{"error":{"code":1,"message":"x"}}', /^missing field `id`$/],
	['{"id":1,"error":null}', /^invalid type for `error`/],
	['{"id":1,"error":"x"}', /^invalid type for `error`/],
	['{"id":1,"error":[]}', /^invalid type for `error`/],
	['{"id":1,"error":{"message":"x"}}', /^missing field `code`$/],
	['{"id":1,"error":{"code":1.5,"message":"x"}}', /^missing field `code`$/],
	['{"id":1,"error":{"code":1}}', /^missing field `message`$/],
	['{"id":1,"method":null}', /^invalid type for `method`/],
	['{"id":1,"method":{}}', /^invalid type for `method`/],
])('%s is malformed', (text, reason) => {
	const message = parseMessage(text);
	expect(message).toEqual({kind: 'malformed', reason: expect.stringMatching(reason) as string});
});

const VALID_IDS: [string, RequestId][] = [
	['""', ''],
	['"1"', '1'],
	['"\\u20ac"', '€'],
	['0', 0],
	['-1', -1],
	['9007199254740991', 2 ** 53 - 1],
	['9007199254740993', 2n ** 53n + 1n],
	['-9007199254740993', -(2n ** 53n) - 1n],
	[String(I64_MAX), I64_MAX],
	[String(I64_MIN), I64_MIN],
];

test.each(VALID_IDS)('the id %s is read exactly, wherever it stands', (text, id) => {
	expect(parseMessage(`{"id":${text},"method":"m"}`)).toMatchObject({kind: 'request', id});
	expect(parseMessage(`{"method":"m","params":{"id":3},"id" : ${text} }`)).toMatchObject({kind: 'request', id});
	expect(parseMessage(`{"result":{"id":4},"id":${text}}`)).toMatchObject({kind: 'response', id});
});

test.each([
	'null',
	'true',
	'false',
	'{}',
	'[]',
	'[1]',
	'1.5',
	'1.0',
	'1e2',
	'1E2',
	'-0.0',
	String(I64_MAX + 1n),
	String(I64_MIN - 1n),
	'1e400',
	'9'.repeat(400),
])('the id %s makes requests and replies malformed', id => {
	for (const rest of ['"method":"m"', '"result":1', '"error":{"code":1,"message":"x"}']) {
		expect(parseMessage(`{"id":${id},${rest}}`)).toMatchObject({kind: 'malformed'});
	}
});

test('any 64-bit integer comes back in the reply digit by digit', () => {
	fc.assert(
		fc.property(fc.bigInt({min: I64_MIN, max: I64_MAX}), value => {
			const message = parseMessage(`{"id":${value},"method":"m"}`);
			if (message.kind !== 'request') throw new Error(message.kind);
			expect(encodeResult(message.id, null)).toBe(`{"id":${value},"result":null}`);
			expect(encodeError(message.id, {code: 1, message: ''})).toBe(`{"id":${value},"error":{"code":1,"message":""}}`);
		}),
	);
});

test.each([
	['null', undefined],
	['{}', {}],
	['{"traceparent":null,"tracestate":null}', {traceparent: null, tracestate: null}],
	['{"traceparent":"not a valid one"}', {traceparent: 'not a valid one'}],
	['{"tracestate":"a=1","other":7}', {tracestate: 'a=1', other: 7}],
])('a request may carry the trace %s', (trace, expected) => {
	expect(parseMessage(`{"id":1,"method":"m","trace":${trace}}`)).toEqual({
		kind: 'request',
		id: 1,
		method: 'm',
		params: undefined,
		trace: expected,
	});
});

test.each([
	['7', 'invalid type for `trace`, expected a map'],
	['"x"', 'invalid type for `trace`, expected a map'],
	['[]', 'invalid type for `trace`, expected a map'],
	['{"traceparent":7}', 'invalid type for `trace.traceparent`, expected a string'],
	['{"tracestate":{}}', 'invalid type for `trace.tracestate`, expected a string'],
])('the trace %s makes a request malformed, and is not looked at elsewhere', (trace, reason) => {
	expect(parseMessage(`{"id":1,"method":"m","trace":${trace}}`)).toEqual({kind: 'malformed', reason});
	expect(parseMessage(`{"method":"m","trace":${trace}}`)).toMatchObject({kind: 'notification'});
	expect(parseMessage(`{"id":1,"result":1,"trace":${trace}}`)).toMatchObject({kind: 'response'});
});

/** JSON values without lone surrogates, which the wire refuses, and without -0, which JSON has not. */
const jsonValue = fc.jsonValue({stringUnit: 'binary'}).map(value => JSON.parse(JSON.stringify(value)) as unknown);
const id = fc.oneof(fc.string({unit: 'binary'}), fc.maxSafeInteger());

test('whatever is encoded is parsed back the same', () => {
	fc.assert(
		fc.property(fc.maxSafeInteger(), fc.string({unit: 'binary'}), jsonValue, (number, method, params) => {
			expect(parseMessage(encodeRequest(number, method, params) as string)).toEqual({
				kind: 'request',
				id: number,
				method,
				params,
				trace: undefined,
			});
			expect(parseMessage(encodeNotification(method, params) as string)).toEqual({
				kind: 'notification',
				method,
				params,
			});
		}),
	);
	fc.assert(
		fc.property(id, jsonValue, fc.integer(), fc.string({unit: 'binary'}), (requestId, value, code, message) => {
			expect(parseMessage(encodeResult(requestId, value) as string)).toEqual({
				kind: 'response',
				id: requestId,
				result: value,
			});
			const error = {code, message, data: value};
			expect(parseMessage(encodeError(requestId, error) as string)).toEqual({kind: 'error', id: requestId, error});
		}),
	);
});

const STRUCTURE = ['{', '}', '[', ']', '"', ':', ',', '"id"', '1', '\\', 'u', ' '];

test('no text makes the parser throw', () => {
	fc.assert(
		fc.property(
			fc.oneof(fc.string({unit: 'binary'}), fc.json(), fc.string({unit: fc.constantFrom(...STRUCTURE)})),
			text => {
				expect(['request', 'notification', 'response', 'error', 'malformed']).toContain(parseMessage(text).kind);
			},
		),
		{numRuns: 500},
	);
});
