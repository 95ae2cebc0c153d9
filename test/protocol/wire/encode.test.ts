import * as fc from 'fast-check';
import * as v from 'valibot';
import {afterEach, describe, expect, test, vi} from 'vitest';
import {ByteBlocks} from '../../../src/protocol/wire/binary-payload.js';
import {decode} from '../../../src/protocol/wire/decode.js';
import {
	encodeError,
	encodeNotification,
	encodeRequest,
	encodeResult,
	encodeWithBytes,
	type Frame,
	JsonParts,
	measureFrame,
} from '../../../src/protocol/wire/encode.js';
import {bytes as bytesField} from '../../../src/protocol/wire/fields.js';
import {frameToBuffer} from '../../../src/transports/node/frame-bytes.js';

const unicode = fc.string({unit: 'binary', maxLength: 50});
const bytes = fc.uint8Array({maxLength: 300});

/** The text of a frame, the same from both encoders. */
function textOf(frame: Frame): string {
	const text = frame.toString();
	if (typeof frame !== 'string' && frameToBuffer(frame).toString() !== text) throw new Error('bytes and text differ');
	return text;
}

function spliced(processId: string, chunk: Uint8Array): JsonParts {
	return new JsonParts([`{"processId":${JSON.stringify(processId)},"seq":1,"chunk":"`, chunk, '"}']);
}

function plain(processId: string, chunk: Uint8Array): unknown {
	return {processId, seq: 1, chunk: Buffer.from(chunk).toString('base64')};
}

test('bytes in several blocks are spliced in as one value, and are the same bytes where they have to be in one piece', () => {
	const blocks = new ByteBlocks(['longarm l', 'ong', 'arm!'].map(text => Buffer.from(text)));
	const dataBase64 = Buffer.from('longarm longarm!').toString('base64');
	expect(textOf(encodeWithBytes({path: 'p', dataBase64: blocks}))).toBe(JSON.stringify({path: 'p', dataBase64}));
	expect(Buffer.from(decode(v.object({chunk: bytesField}), {chunk: blocks}).chunk).toString()).toBe('longarm longarm!');
});

test('spliced bytes read like the same value through JSON.stringify', () => {
	fc.assert(
		fc.property(unicode, bytes, unicode, (processId, chunk, method) => {
			const params = plain(processId, chunk);
			expect(textOf(encodeNotification(method, spliced(processId, chunk)))).toBe(JSON.stringify({method, params}));
			expect(textOf(encodeResult(method, spliced(processId, chunk)))).toBe(
				JSON.stringify({id: method, result: params}),
			);
		}),
	);
});

test('any number of pieces, empty ones and views into larger buffers included, are joined in order', () => {
	const piece = fc.oneof(
		bytes,
		bytes.map(each => new Uint8Array([9, 9, ...each, 9]).subarray(2, each.length + 2)),
	);
	fc.assert(
		fc.property(fc.array(piece, {maxLength: 8}), chunks => {
			const parts: (string | Uint8Array)[] = ['['];
			for (const [index, chunk] of chunks.entries()) parts.push(index === 0 ? '"' : ',"', chunk, '"');
			const expected = JSON.stringify({id: 1, result: chunks.map(chunk => Buffer.from(chunk).toString('base64'))});
			expect(textOf(encodeResult(1, new JsonParts([...parts, ']'])))).toBe(expected);
		}),
	);
});

test('a frame is as long as its UTF-8', () => {
	fc.assert(
		fc.property(unicode, bytes, (text, chunk) => {
			expect(measureFrame(text)).toBe(Buffer.from(text).length);
			const frame = encodeNotification(text, spliced(text, chunk));
			expect(measureFrame(frame)).toBe(Buffer.from(textOf(frame)).length);
		}),
	);
});

test.each([
	['a request', () => encodeRequest(1, 'm', {a: 1}), '{"id":1,"method":"m","params":{"a":1}}'],
	['a request without params', () => encodeRequest(1, 'm', undefined), '{"id":1,"method":"m"}'],
	[
		'a request with a trace',
		() => encodeRequest(1, 'm', null, {tracestate: 's'}),
		'{"id":1,"method":"m","params":null,"trace":{"tracestate":"s"}}',
	],
	['a notification', () => encodeNotification('m', [1]), '{"method":"m","params":[1]}'],
	['a result', () => encodeResult('x', {a: null}), '{"id":"x","result":{"a":null}}'],
	['a result that is nothing', () => encodeResult(2n ** 53n + 1n, undefined), '{"id":9007199254740993,"result":null}'],
	[
		'an error',
		() => encodeError(-1, {code: -32600, message: 'bad "thing"'}),
		'{"id":-1,"error":{"code":-32600,"message":"bad \\"thing\\""}}',
	],
	[
		'an error with data',
		() => encodeError(1, {code: 1, message: 'm', data: null}),
		'{"id":1,"error":{"code":1,"message":"m","data":null}}',
	],
])('%s has no jsonrpc member and no member too many', (_, encode, text) => {
	expect(encode()).toBe(text);
});

test('half a surrogate pair leaves as an escape and never as broken UTF-8', () => {
	expect(textOf(encodeNotification('m', spliced('\uD800', new Uint8Array())))).toContain('"processId":"\\ud800"');
	expect(encodeResult('\uDC00', '\uD800')).toBe('{"id":"\\udc00","result":"\\ud800"}');
});

afterEach(() => {
	vi.unstubAllGlobals();
	vi.resetModules();
});

test('without Buffer, as in a browser, the same text comes out', async () => {
	vi.resetModules();
	vi.stubGlobal('Buffer', undefined);
	const browser = await import('../../../src/protocol/wire/encode.js');
	const parts = new browser.JsonParts(['{"id":"€","chunk":"', new Uint8Array([0, 255, 128, 7]), '"}']);
	expect(browser.encodeNotification('m', parts).toString()).toBe(
		'{"method":"m","params":{"id":"€","chunk":"AP+ABw=="}}',
	);
	expect([browser.measureFrame('€𐍈'), browser.measureFrame(parts)]).toEqual([7, 31]);
});

describe('bytes spliced into JSON', () => {
	const json = fc.letrec<{value: unknown}>(tie => ({
		value: fc.oneof(
			{maxDepth: 3},
			fc.constant(null),
			fc.boolean(),
			fc.double({noNaN: true, noDefaultInfinity: true}),
			fc.string({unit: 'binary'}),
			fc.uint8Array({maxLength: 40}),
			fc.array(tie('value'), {maxLength: 4}),
			fc.dictionary(fc.string(), fc.option(tie('value'), {nil: undefined}), {maxKeys: 4}),
		),
	})).value;

	test('give the same text as an object that holds base64', () => {
		fc.assert(
			fc.property(fc.dictionary(fc.string(), json), value => {
				const text = JSON.stringify(value, (_name, member: unknown) =>
					member instanceof Uint8Array ? Buffer.from(member).toString('base64') : member,
				);
				expect(encodeWithBytes(value).toString()).toBe(text);
			}),
		);
	});

	test('are handed on without a copy, with the function that releases them', () => {
		const chunk = new Uint8Array(3);
		const release = vi.fn<() => void>();
		const encoded = encodeWithBytes({chunk, eof: false}, release);
		expect(encoded.parts[1]).toBe(chunk);
		expect(encoded.release).toBe(release);
	});
});
