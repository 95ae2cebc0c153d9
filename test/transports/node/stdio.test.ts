import {PassThrough} from 'node:stream';
import {expect, test} from 'vitest';
import {JsonParts} from '../../../src/protocol/wire/encode.js';
import {MAX_MESSAGE_BYTES} from '../../../src/protocol/wire/message-limits.js';
import {StdioTransport} from '../../../src/transports/node/stdio.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {waitTicks} from '../../helpers/ticks.js';

function opened(): {input: PassThrough; output: PassThrough; end: RawPeer; transport: StdioTransport} {
	const input = new PassThrough();
	const output = new PassThrough();
	const transport = new StdioTransport(input, output);
	return {input, output, transport, end: new RawPeer(transport)};
}

test('it calls itself stdio', () => {
	const {transport} = opened();
	expect([transport.kind, transport.peer]).toEqual(['stdio', 'stdio']);
});

test('every line is a message; blank ones and carriage returns at the end are left out', async () => {
	const {input, end} = opened();
	input.write('one\r\n\n  \t \n\r\ntwo\nthr');
	input.write('ee €\n');
	input.end('unfinished');
	expect(await end.untilClosed()).toEqual({error: undefined});
	expect(end.texts).toEqual(['one', 'two', 'three €']);
});

test('a line of control characters is a message, not a blank line', async () => {
	const {input, end} = opened();
	input.write('\0\n\u001b \n');
	input.end();
	await end.untilClosed();
	expect(end.texts).toEqual(['\0', '\u001b ']);
});

test('a character may be cut in half between two reads', async () => {
	const {input, end} = opened();
	const bytes = Buffer.from('"€"\n');
	for (const byte of bytes) input.write(Buffer.from([byte]));
	expect(await end.nextText()).toBe('"€"');
});

test('messages go out one per line, text or in pieces', async () => {
	const {output, transport} = opened();
	const writes: string[] = [];
	output.on('data', (data: Buffer) => writes.push(data.toString()));
	transport.send('{"a":1}');
	const borrowed = Buffer.from('bytes');
	transport.send(new JsonParts(['{"€":"', borrowed, '"}']));
	borrowed.fill(0);
	expect(transport.backlog).toBe(Buffer.byteLength('{"a":1}\n{"€":"Ynl0ZXM="}\n'));
	await waitTicks();
	expect(writes.join('')).toBe('{"a":1}\n{"€":"Ynl0ZXM="}\n');
	expect(transport.backlog).toBe(0);
});

test.each([
	['a stray byte', [0x22, 0xff, 0x22]],
	['a cut-off sequence', [0xe2, 0x82]],
	['an encoded surrogate', [0xed, 0xa0, 0x80]],
	['an overlong form', [0xc0, 0xaf]],
])('what is not UTF-8 ends the connection: %s', async (_, bytes) => {
	const {input, end} = opened();
	input.write(Buffer.from([...Buffer.from('fine\n'), ...bytes, 0x0a, ...Buffer.from('unread\n')]));
	expect((await end.untilClosed()).error?.message).toBe('invalid UTF-8');
	expect(end.texts).toEqual(['fine']);
});

test('a line above the message limit ends the connection, one of exactly the limit does not', async () => {
	const {input, end} = opened();
	input.write('x'.repeat(MAX_MESSAGE_BYTES));
	input.write('\n');
	expect((await end.nextText()).length).toBe(MAX_MESSAGE_BYTES);
	input.write('x'.repeat(MAX_MESSAGE_BYTES));
	input.write('x');
	expect((await end.untilClosed()).error?.message).toBe(`line exceeds ${MAX_MESSAGE_BYTES} bytes`);
});

test.each([
	['input breaks', ({input}: ReturnType<typeof opened>) => input.destroy(new Error('EIO')), 'EIO'],
	['input is gone', ({input}: ReturnType<typeof opened>) => input.destroy(), undefined],
	['output breaks', ({output}: ReturnType<typeof opened>) => output.destroy(new Error('EPIPE')), 'EPIPE'],
])('the connection ends when %s', async (_, end, message) => {
	const streams = opened();
	end(streams);
	expect((await streams.end.untilClosed()).error?.message).toBe(message);
	streams.transport.send('nobody reads this');
	streams.transport.close();
	await waitTicks();
});

test('a paused transport reads nothing until it is resumed', async () => {
	const {input, end, transport} = opened();
	transport.pause();
	input.write('waiting\n');
	await waitTicks();
	expect(end.texts).toEqual([]);
	transport.resume();
	expect(await end.nextText()).toBe('waiting');
});

test('an output that is full shows in the backlog, and draining is reported', async () => {
	const {output, end, transport} = opened();
	transport.send('x'.repeat(1_000_000));
	await waitTicks();
	expect([transport.backlog > 900_000, end.drains]).toEqual([true, 0]);
	output.resume();
	await end.until(() => end.drains > 0, 'draining');
	expect(transport.backlog).toBe(0);
});

test('closing sends what was accepted and nothing more, then ends the output', async () => {
	const {output, end, transport} = opened();
	transport.send('last words');
	transport.close();
	transport.send('too late');
	const read: Buffer[] = [];
	for await (const data of output) read.push(data as Buffer);
	expect(Buffer.concat(read).toString()).toBe('last words\n');
	expect(await end.untilClosed()).toEqual({error: undefined});
});

test('what was accepted before the input ended can be waited for', async () => {
	const {input, output, end, transport} = opened();
	transport.send('x'.repeat(100_000));
	input.end();
	await end.untilClosed();
	let flushed = false;
	const over = transport.flushed().then(() => (flushed = true));
	await waitTicks();
	expect(flushed).toBe(false);
	let read = 0;
	output.on('data', (data: Buffer) => (read += data.length));
	await over;
	expect(read).toBe(100_001);
	await transport.flushed();
});

test('nobody waits for an output that broke', async () => {
	const {output, transport} = opened();
	transport.send('x'.repeat(100_000));
	const over = transport.flushed();
	output.destroy(new Error('EPIPE'));
	await expect(over).resolves.toBeUndefined();
	await expect(transport.flushed()).resolves.toBeUndefined();
});

test('a destroyed transport delivers nothing more, not even from what it has read already', async () => {
	const [input, output] = [new PassThrough(), new PassThrough()];
	const transport = new StdioTransport(input, output);
	const seen: string[] = [];
	transport.open({
		message: text => {
			seen.push(text);
			transport.destroy();
		},
		unreadable: () => {},
		drained: () => {},
		closed: () => seen.push('closed'),
	});
	input.write('first\nsecond\n');
	await waitTicks();
	expect(seen).toEqual(['first', 'closed']);
});
