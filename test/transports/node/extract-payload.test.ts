import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {parseMessage} from '../../../src/protocol/wire/envelope.js';
import {EXTRACT_FROM_BYTES, extractPayload} from '../../../src/transports/node/extract-payload.js';

const LONG = Buffer.alloc(EXTRACT_FROM_BYTES * 3 + 1, 'longarm');
const base64 = LONG.toString('base64');

/** What the message means with its payload taken out. */
function lifted(text: string) {
	const message = Buffer.from(text);
	const result = extractPayload(message);
	return result ? parseMessage(result.text, result.payload) : 'nothing lifted';
}

test.each(['chunk', 'dataBase64', 'bodyBase64', 'deltaBase64'])(
	'a long %s is bytes before it was ever a string',
	member => {
		const message = lifted(`{"id":7,"method":"m","params":{"x":"é", "${member}" : "${base64}","y":[1]}}`);
		expect(message).toMatchObject({kind: 'request', id: 7, method: 'm', params: {x: 'é', y: [1]}});
		expect(Buffer.from((message as {params: Record<string, Uint8Array>}).params[member]!).equals(LONG)).toBe(true);
	},
);

test('results and notifications have payload too', () => {
	expect(lifted(`{"id":1,"result":{"chunk":"${base64}","eof":false}}`)).toMatchObject({
		kind: 'response',
		result: {eof: false},
	});
	expect(lifted(`{"method":"n","params":{"chunk":"${base64}"}}`)).toMatchObject({kind: 'notification'});
});

test.each([
	['a short value', '{"method":"n","params":{"chunk":"YQ=="}}'],
	['another member', `{"method":"n","params":{"text":"${base64}"}}`],
	['no base64', `{"method":"n","params":{"chunk":"${base64.slice(0, -4)}****"}}`],
	['the URL-safe alphabet', `{"method":"n","params":{"chunk":"-_${base64.slice(2)}"}}`],
	['an escape', `{"method":"n","params":{"chunk":"${base64}\\n"}}`],
	['an escaped quote before it', `{"method":"\\"","params":{"chunk":"${base64}"}}`],
	['no end', `{"method":"n","params":{"chunk":"${base64}`],
	['white space in it', `{"method":"n","params":{"chunk":"${base64.slice(0, 70_000)} ${base64.slice(70_001)}"}}`],
	['stray bits at the end', `{"method":"n","params":{"chunk":"${'A'.repeat(EXTRACT_FROM_BYTES)}AB=="}}`],
	['bytes beyond ASCII', `{"method":"n","params":{"chunk":"é${base64}"}}`],
])('a message with %s stays as it is', (_what, text) => {
	const message = Buffer.from(text);
	expect(extractPayload(message)).toBeUndefined();
	expect(message.toString()).toBe(text);
});

test.each([
	['deeper than it belongs', `{"id":1,"method":"n","params":{"a":{"chunk":"${base64}"}}}`],
	['in params by position', `{"id":1,"method":"n","params":[{"chunk":"${base64}"}]}`],
	['outside of params', `{"id":1,"method":"n","chunk":"${base64}","params":{}}`],
	['twice', `{"id":1,"method":"n","params":{"chunk":"${base64}","chunk":"YQ=="}}`],
	['in something that is no message', `{"chunk":"${base64}"}`],
	['in broken JSON', `{"id":1,"params":{"chunk":"${base64}"},}`],
	['in an error', `{"id":1,"error":{"code":1,"message":"m","chunk":"${base64}"}}`],
])('a value %s means what it means as text', (_where, text) => {
	expect(lifted(text)).toEqual(parseMessage(text));
});

test('bytes of any content and length come out as they went in, and a damaged value never does', () => {
	fc.assert(
		fc.property(
			fc.integer({min: 0, max: 300_000}),
			fc.integer({min: 0, max: 255}),
			fc.option(fc.tuple(fc.nat(), fc.constantFrom('-', '_', '=', ' ', '*', '\x7f')), {nil: undefined}),
			(length, seed, damage) => {
				const content = Buffer.from(Array.from({length: 257}, (_, index) => (index * seed) % 256));
				const value = Buffer.alloc(length, content).toString('base64');
				const at = damage ? damage[0] % (value.length + 1) : 0;
				const damaged = damage ? value.slice(0, at) + damage[1] + value.slice(at + 1) : value;
				const text = `{"method":"n","params":{"chunk":"${damaged}"}}`;
				const message = Buffer.from(text);
				const result = extractPayload(message);
				expect(result ? result.payload.original() : message.toString()).toBe(text);
				const isBulk = damaged.length >= EXTRACT_FROM_BYTES && damaged === value;
				expect(result !== undefined).toBe(isBulk);
			},
		),
		{numRuns: 200},
	);
});

test('a value larger than a block is decoded in place, and the message is as it was if that fails late', () => {
	const content = Buffer.from(Array.from({length: 2_000_000}, (_, index) => (index * 7919) % 251));
	const text = `{"id":7,"method":"m","params":{"chunk":"${content.toString('base64')}","y":[1]}}`;
	const message = Buffer.from(text);
	const {payload} = extractPayload(message)!;
	expect(payload.bytes.buffer).toBe(message.buffer);
	expect(content.equals(payload.bytes)).toBe(true);
	expect(payload.original()).toBe(text);
	for (const at of [100, 70_000, 1_000_000, text.length - 30]) {
		const damaged = `${text.slice(0, at)}*${text.slice(at + 1)}`;
		const bytes = Buffer.from(damaged);
		expect(extractPayload(bytes)).toBeUndefined();
		expect(bytes.toString()).toBe(damaged);
	}
});
