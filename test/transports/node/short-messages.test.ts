import type {AddressInfo} from 'node:net';
import {connect, Socket} from 'node:net';
import * as fc from 'fast-check';
import {expect, onTestFinished, test, vi} from 'vitest';
import {WebSocket, WebSocketServer} from 'ws';
import {fromWebSocket} from '../../../src/transports/node/from-web-socket.js';
import type {Transport} from '../../../src/transports/transport.js';
import {eventually} from '../../helpers/processes.js';
import {clientFrame} from '../../helpers/raw-web-socket.js';
import {waitTicks} from '../../helpers/ticks.js';

const MAX_PAYLOAD = 20_000;

interface Receiver {
	_write(...parameters: unknown[]): void;
}

/** The server's end of a connection, and all that came of what was read from it. */
class Accepted {
	readonly events: string[] = [];
	readonly transport: Transport;
	readonly webSocket: WebSocket;
	readonly socket: Socket;
	readonly #closed: Promise<void>;

	constructor(webSocket: WebSocket) {
		this.webSocket = webSocket;
		this.socket = (webSocket as unknown as {_socket: Socket})._socket;
		this.transport = fromWebSocket(webSocket, {end: 'server'});
		this.#closed = new Promise(resolve => {
			this.transport.open({
				message: text => this.events.push(`message ${text}`),
				unreadable: reason => this.events.push(`unreadable ${reason}`),
				drained: () => {},
				closed: error => {
					this.events.push(`closed ${error?.message}`);
					resolve();
				},
			});
		});
	}

	get receiver(): Receiver {
		return (this.webSocket as unknown as {_receiver: Receiver})._receiver;
	}

	/** Resolves when nothing more will come of what was read so far. */
	async settled(): Promise<void> {
		await waitTicks(2);
		if (this.webSocket.readyState !== this.webSocket.OPEN) await this.#closed;
	}

	async untilEvents(count: number): Promise<void> {
		await eventually(() => this.events.length >= count);
	}
}

async function accepting(): Promise<{next: () => Promise<Accepted>; port: number}> {
	const server = new WebSocketServer({host: '127.0.0.1', port: 0, perMessageDeflate: false, maxPayload: MAX_PAYLOAD});
	onTestFinished(() => {
		for (const client of server.clients) client.terminate();
		server.close();
	});
	await new Promise(resolve => server.once('listening', resolve));
	const next = () => new Promise<Accepted>(resolve => server.once('connection', end => resolve(new Accepted(end))));
	return {next, port: (server.address() as AddressInfo).port};
}

async function linked(): Promise<{client: WebSocket; end: Accepted}> {
	const {next, port} = await accepting();
	const accepted = next();
	const client = new WebSocket(`ws://127.0.0.1:${port}`, {perMessageDeflate: false});
	onTestFinished(() => client.terminate());
	await new Promise(resolve => client.once('open', resolve));
	return {client, end: await accepted};
}

const payload = fc.oneof(
	fc.string({unit: 'binary'}).map(text => Buffer.from(text)),
	fc.uint8Array({maxLength: 200}).map(bytes => Buffer.from(bytes)),
	fc.constantFrom(0, 125, 126, 127, 16_384, 16_385, MAX_PAYLOAD, MAX_PAYLOAD + 1).map(size => Buffer.alloc(size, 'x')),
	fc.constantFrom('\ufffd', 'a\ufffd€', '\ufeff{}').map(text => Buffer.from(text)),
);
const wholeText = fc.record({payload, opcode: fc.constant(1), final: fc.constant(true), isMasked: fc.constant(true)});
const anyFrame = fc.record({
	payload,
	opcode: fc.constantFrom(0, 1, 2, 8, 9, 10, 3),
	final: fc.boolean(),
	isMasked: fc.boolean(),
});
const frame = fc
	.tuple(
		fc.oneof({weight: 6, arbitrary: wholeText}, {weight: 1, arbitrary: anyFrame}),
		fc.uint8Array({minLength: 4, maxLength: 4}),
	)
	.map(([{payload: bytes, opcode, final, isMasked}, mask]) =>
		encode(bytes, {opcode, final, mask: isMasked ? mask : undefined}),
	);

function encode(
	bytes: Buffer,
	{opcode, final, mask}: {opcode: number; final: boolean; mask: Uint8Array | undefined},
): Buffer {
	const header = bytes.length < 126 ? Buffer.alloc(2) : Buffer.alloc(4);
	header[0] = (final ? 0x80 : 0) | opcode;
	header[1] = (mask ? 0x80 : 0) | (bytes.length < 126 ? bytes.length : 126);
	if (bytes.length >= 126) header.writeUInt16BE(bytes.length, 2);
	if (!mask) return Buffer.concat([header, bytes]);
	return Buffer.concat([header, mask, bytes.map((byte, index) => byte ^ mask[index & 3]!)]);
}

/** Cuts the bytes at these places, wrapped round. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
	const sorted = places.map(place => place % (bytes.length + 1)).toSorted((one, other) => one - other);
	return [...sorted, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : sorted[index - 1], end));
}

test('whatever frames arrive, wherever they are cut, they mean what they mean to the library alone', async () => {
	const {next, port} = await accepting();
	const open = async (): Promise<Accepted> => {
		const accepted = next();
		const client = new WebSocket(`ws://127.0.0.1:${port}`, {perMessageDeflate: false});
		client.on('error', () => {});
		return accepted;
	};
	await fc.assert(
		fc.asyncProperty(
			fc.array(frame, {minLength: 1, maxLength: 8}),
			fc.array(fc.nat(), {maxLength: 6}),
			async (frames, places) => {
				const [end, reference] = [await open(), await open()];
				// Another listener has every message delivered by the library.
				reference.webSocket.on('message', () => {});
				for (const each of [end, reference]) {
					for (const piece of cut(Buffer.concat(frames), places)) {
						if (piece.length > 0) each.socket.emit('data', Buffer.from(piece));
					}
				}
				await Promise.all([end.settled(), reference.settled()]);
				expect(end.events).toEqual(reference.events);
				for (const each of [end, reference]) each.webSocket.terminate();
			},
		),
		{numRuns: 150},
	);
});

test('short messages reach neither the stream of their socket nor the receiver of the library', async () => {
	const {client, end} = await linked();
	client.send('first');
	await end.untilEvents(1);
	const pushed = vi.spyOn(end.socket, 'push');
	const received = vi.spyOn(end.receiver, '_write');
	const sent = ['', 'short €', 'x'.repeat(1000)];
	for (const [index, text] of sent.entries()) {
		client.send(text);
		await end.untilEvents(index + 2);
	}
	expect(end.events).toEqual(['first', ...sent].map(text => `message ${text}`));
	expect(pushed).not.toHaveBeenCalled();
	expect(received).not.toHaveBeenCalled();
});

test('a frame of which one byte has arrived goes on where it was cut, whatever the rest looks like', async () => {
	const {end} = await linked();
	// Without its first byte it looks like an empty message.
	const whole = encode(Buffer.from('a'), {opcode: 1, final: true, mask: Uint8Array.of(0x80, 1, 2, 3)});
	for (const piece of [whole.subarray(0, 1), whole.subarray(1)]) end.socket.emit('data', Buffer.from(piece));
	await end.settled();
	expect(end.events).toEqual(['message a']);
});

test('messages that arrive while reading is paused come in order when it goes on, and so do those behind them', async () => {
	const {client, end} = await linked();
	const sent = Array.from({length: 400}, (_, index) => `${index}`);
	for (const [index, text] of sent.entries()) {
		client.send(text);
		if (index % 40 === 10) end.transport.pause();
		if (index % 40 === 30) end.transport.resume();
		if (index % 10 === 0) await waitTicks(1);
	}
	await end.untilEvents(sent.length);
	expect(end.events).toEqual(sent.map(text => `message ${text}`));
});

test('a message whose frame is cut by the end of a read is taken together with what follows it', async () => {
	const {next, port} = await accepting();
	const accepted = next();
	const raw = connect(port, '127.0.0.1');
	onTestFinished(() => void raw.destroy());
	raw.write(
		'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
			'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
	);
	const end = await accepted;
	const bytes = Buffer.concat([clientFrame('one'), clientFrame('two'), clientFrame('three')]);
	raw.write(bytes.subarray(0, 12));
	await end.untilEvents(1);
	raw.write(bytes.subarray(12));
	await end.untilEvents(3);
	expect(end.events).toEqual(['message one', 'message two', 'message three']);
});

test('small messages are written without the stream of the socket, and all arrive in order in front of a peer that stops reading', async () => {
	const {client, end} = await linked();
	const streamed = vi.spyOn(end.socket, 'write');
	const received: string[] = [];
	client.on('message', data => received.push((data as Buffer).toString()));
	end.transport.send('first');
	await eventually(() => received.length === 1);
	expect(streamed).not.toHaveBeenCalled();
	client.pause();
	const sent = ['first'];
	// Until the kernel takes no more, and for a while longer.
	for (let beyond = 0; beyond < 50; ) {
		const text = `${sent.length} ${'x'.repeat(4000)}`;
		sent.push(text);
		end.transport.send(text);
		if (sent.length % 16 === 0) await waitTicks(1);
		if (streamed.mock.calls.length > 0) beyond++;
	}
	client.resume();
	// There is room in the kernel again before the stream has used it.
	while (received.length < 1000) {
		sent.push(`${sent.length}`);
		end.transport.send(sent.at(-1)!);
		await waitTicks(1);
	}
	await eventually(() => received.length === sent.length);
	expect(received).toEqual(sent);
	expect(end.transport.backlog).toBe(0);
});
