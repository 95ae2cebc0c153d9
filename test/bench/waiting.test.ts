import {EventEmitter, once} from 'node:events';
import type {AddressInfo, Socket} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {WebSocketServer} from 'ws';

interface Waiting {
	readonly inParallel: (
		count: number,
		width: number,
		work: (index: number) => Promise<void>,
	) => Promise<{times: Float64Array; ms: number}>;
	readonly until: (
		probe: () => boolean,
		options?: {readonly withinMs?: number; readonly everyMs?: number},
	) => Promise<boolean>;
	readonly within: <T>(ms: number, what: string, promise: Promise<T>) => Promise<T>;
}

interface Handlers {
	readonly piece: (buffer: Buffer, start: number, end: number, isLast: boolean) => void;
	readonly control?: (opcode: number, payload: Buffer) => void;
	readonly closed: (error: Error) => void;
}

interface Connections {
	readonly WebSocketConnection: {
		open(url: string, handlers: Handlers): Promise<{socket: Socket; beginPieces(): void; endPieces(): void}>;
	};
}

const LIB = new URL('../../bench/lib/', import.meta.url);
const {inParallel, until, within} = (await import(new URL('waiting.mjs', LIB).href)) as Waiting;
const {WebSocketConnection} = (await import(new URL('web-socket-connection.mjs', LIB).href)) as Connections;
const {frame} = (await import(new URL('web-socket-frames.mjs', LIB).href)) as {frame: (payload: Buffer) => Buffer};

test('work in parallel is done once each, never more at a time than allowed', async () => {
	const done: number[] = [];
	let running = 0;
	let most = 0;
	const {times} = await inParallel(10, 3, async index => {
		most = Math.max(most, ++running);
		await Promise.resolve();
		running--;
		done.push(index);
	});
	expect([done.sort((a, b) => a - b), most, times.length]).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 3, 10]);
});

test('polling tells whether the answer became yes', async () => {
	let asked = 0;
	expect(await until(() => ++asked === 3, {everyMs: 1})).toBe(true);
	expect(await until(() => false, {withinMs: 0, everyMs: 1})).toBe(false);
});

test('a promise that takes too long is an error that names it', async () => {
	expect(await within(60_000, 'an answer', Promise.resolve(1))).toBe(1);
	await expect(within(1, 'an answer', new Promise(() => {}))).rejects.toThrow('an answer: nothing after 1 ms');
});

test('a WebSocket by hand exchanges messages, answers pings and tells of its end', async () => {
	const server = new WebSocketServer({host: '127.0.0.1', port: 0});
	onTestFinished(() => server.close());
	await once(server, 'listening');
	const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
	server.on('connection', peer => {
		peer.on('message', data => peer.send(`${(data as Buffer).toString()} back`));
		peer.on('pong', () => peer.terminate());
	});
	const received: string[] = [];
	const ends = new EventEmitter();
	const ended = once(ends, 'end');
	const {socket} = await WebSocketConnection.open(url, {
		piece(buffer, start, end) {
			received.push(buffer.toString('utf8', start, end));
			for (const peer of server.clients) peer.ping();
		},
		closed: error => ends.emit('end', error),
	});
	socket.write(frame(Buffer.from('there and')));
	expect(await ended).toEqual([new Error('websocket closed')]);
	expect(received).toEqual(['there and back']);
});

test('a refused upgrade is an error', async () => {
	const server = new WebSocketServer({host: '127.0.0.1', port: 0, verifyClient: () => false});
	onTestFinished(() => server.close());
	await once(server, 'listening');
	const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
	const opening = WebSocketConnection.open(url, {piece() {}, closed() {}});
	await expect(opening).rejects.toThrow('upgrade refused: HTTP/1.1 401 Unauthorized');
});

test('a ping that comes while a frame is written in pieces is answered behind it', async () => {
	const server = new WebSocketServer({host: '127.0.0.1', port: 0});
	onTestFinished(() => server.close());
	await once(server, 'listening');
	const heard = new EventEmitter();
	server.on('connection', socket => {
		socket.on('message', data => heard.emit('heard', (data as Buffer).toString()));
		socket.on('pong', data => heard.emit('heard', `pong ${data.toString()}`));
		heard.once('ask', () => {
			socket.ping('there?');
			socket.send('behind the ping');
		});
	});
	const {port} = server.address() as AddressInfo;
	const handlers = {piece: () => heard.emit('piece'), closed: () => {}};
	const connection = await WebSocketConnection.open(`ws://127.0.0.1:${port}`, handlers);
	onTestFinished(() => void connection.socket.destroy());
	const whole = frame(Buffer.from('one message'));
	connection.beginPieces();
	connection.socket.write(whole.subarray(0, 5));
	const asked = once(heard, 'piece');
	heard.emit('ask');
	await asked;
	const words: unknown[] = [];
	const all = new Promise<void>(resolve => {
		heard.on('heard', word => {
			if (words.push(word) === 2) resolve();
		});
	});
	connection.socket.write(whole.subarray(5));
	connection.endPieces();
	await all;
	expect(words).toEqual(['one message', 'pong there?']);
});
