import {once} from 'node:events';
import {expect, test} from 'vitest';
import {MAX_PENDING_READS} from '../../src/network/forward/forwarded-connection.js';
import {MAX_FORWARDS} from '../../src/network/forward/forwards.js';
import type {ServerOptions} from '../../src/server/options.js';
import {disconnect} from '../helpers/disconnect.js';
import {base64} from '../helpers/files.js';
import {refusal} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import {type Joined, join, serving} from '../helpers/serving.js';
import type {TestClient} from '../helpers/test-client.js';
import {waitTicks} from '../helpers/ticks.js';
import {echo, rawOrigin} from '../network/origin.js';

const MiB = 1024 * 1024;

/** A client of a server that forwards to its own ports. */
async function forwarding(options: ServerOptions = {}): Promise<Joined> {
	return join(await serving({variables: {}, allowForward: 'loopback', ...options}));
}

const open = (client: TestClient, forwardId: string, port: number): Promise<unknown> =>
	client.call('forward/open', {forwardId, port});
const write = (client: TestClient, forwardId: string, content: string | Buffer, eof?: boolean): Promise<unknown> =>
	client.call('forward/write', {forwardId, chunk: base64(content), eof});
const close = (client: TestClient, forwardId: string): Promise<unknown> => client.call('forward/close', {forwardId});

async function read(client: TestClient, forwardId: string, maxBytes?: number): Promise<{text: string; eof: boolean}> {
	const {chunk, eof} = await client.call<{chunk: string; eof: boolean}>('forward/read', {forwardId, maxBytes});
	return {text: Buffer.from(chunk, 'base64').toString('latin1'), eof};
}

async function readAll(client: TestClient, forwardId: string): Promise<Buffer> {
	const chunks: Buffer[] = [];
	for (;;) {
		const {chunk, eof} = await client.call<{chunk: string; eof: boolean}>('forward/read', {forwardId});
		if (eof) return Buffer.concat(chunks);
		chunks.push(Buffer.from(chunk, 'base64'));
	}
}

const broken = (reason: string): unknown =>
	expect.objectContaining({code: -32_603, message: `forwarding failed: ${reason}`});

test('several connections carry megabytes both ways at once, byte for byte', async () => {
	const {port} = await rawOrigin(echo);
	const {client} = await forwarding();
	const round = async (id: string): Promise<void> => {
		const content = Buffer.from(Uint32Array.from({length: MiB}, (_, index) => index * id.length).buffer);
		await open(client, id, port);
		const back = readAll(client, id);
		for (let at = 0; at < content.length; at += 300_000) await write(client, id, content.subarray(at, at + 300_000));
		await write(client, id, '', true);
		expect((await back).equals(content)).toBe(true);
		await close(client, id);
	};
	await Promise.all(['a', 'bb', 'ccc', 'dddd'].map(round));
});

test('writes and reads may follow an open before it is answered, and keep their order', async () => {
	const {port} = await rawOrigin(echo);
	const {client} = await forwarding();
	const calls = [
		open(client, 'f', port),
		...Array.from({length: 20}, (_, count) => write(client, 'f', `${count} `)),
		write(client, 'f', 'end', true),
	];
	const reads = Array.from({length: 10}, () => read(client, 'f', 6));
	await Promise.all(calls);
	const first = (await Promise.all(reads)).map(({text}) => text).join('');
	const rest = (await readAll(client, 'f')).toString();
	expect(first + rest).toBe(`${Array.from({length: 20}, (_, count) => `${count} `).join('')}end`);
});

test('the port may end its direction and still be written to', async () => {
	const got: Buffer[] = [];
	const {port, sockets} = await rawOrigin(socket => {
		socket.on('data', chunk => got.push(chunk));
		socket.end('all I have to say');
	});
	const {client} = await forwarding();
	await open(client, 'f', port);
	expect(await read(client, 'f')).toEqual({text: 'all I have to say', eof: false});
	expect(await read(client, 'f')).toEqual({text: '', eof: true});
	expect(await read(client, 'f')).toEqual({text: '', eof: true});
	await write(client, 'f', 'late ');
	await write(client, 'f', 'answer', true);
	await eventually(() => sockets[0]!.readableEnded);
	expect(Buffer.concat(got).toString()).toBe('late answer');
	expect(await refusal(write(client, 'f', 'more'))).toEqual(broken('nothing can be written after eof'));
});

test('the client may end its direction and still read', async () => {
	const {port} = await rawOrigin(socket => {
		socket.resume();
		socket.on('end', () => socket.end('after your end'));
	});
	const {client} = await forwarding();
	await open(client, 'f', port);
	const waiting = read(client, 'f');
	await write(client, 'f', '', true);
	expect(await waiting).toEqual({text: 'after your end', eof: false});
	expect(await read(client, 'f')).toEqual({text: '', eof: true});
});

test('a port nobody reads from is not read without end, and loses nothing', async () => {
	const content = Buffer.alloc(64 * MiB, 'abcdefg');
	const {port, sockets} = await rawOrigin(socket => socket.end(content));
	const {client} = await forwarding();
	await open(client, 'f', port);
	// The port writes one large buffer: how much of it is gone shows in what the system has yet to take.
	const left = (): number => sockets[0]!.writableLength;
	for (let still = 0, before = -1; still < 20; before = left()) {
		await client.call('environment/status');
		await waitTicks();
		still = left() === before ? still + 1 : 0;
	}
	expect(sockets[0]!.writableFinished).toBe(false);
	expect((await readAll(client, 'f')).equals(content)).toBe(true);
});

test('a write is answered when the port takes it, and what waits is bounded', async () => {
	const {port, sockets} = await rawOrigin(socket => socket.pause());
	const {client} = await forwarding();
	await open(client, 'f', port);
	const chunk = Buffer.alloc(8 * MiB);
	let answered = 0;
	const writes = Array.from({length: 10}, () => refusal(write(client, 'f', chunk).then(() => void answered++)));
	expect(await Promise.race(writes)).toEqual(broken('more than 64MiB of writes wait to be taken'));
	expect(answered).toBeLessThan(4);
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
	sockets[0]!.resume();
	await Promise.all(writes);
	expect(answered).toBeGreaterThanOrEqual(8);
});

test('a reset fails what waits and what comes', async () => {
	const {port, sockets} = await rawOrigin(socket => socket.resume());
	const {client} = await forwarding();
	await open(client, 'f', port);
	await eventually(() => sockets.length === 1);
	const waiting = [refusal(read(client, 'f')), refusal(read(client, 'f'))];
	await client.call('environment/status');
	sockets[0]!.resetAndDestroy();
	expect(await Promise.all(waiting)).toEqual([broken('read ECONNRESET'), broken('read ECONNRESET')]);
	expect(await refusal(write(client, 'f', 'x'))).toEqual(broken('read ECONNRESET'));
	expect(await refusal(write(client, 'f', 'x', true))).toEqual(broken('read ECONNRESET'));
	expect(await refusal(read(client, 'f'))).toEqual(broken('read ECONNRESET'));
});

test('closing settles what waits, ends the connection, and makes the id free', async () => {
	const {port, sockets} = await rawOrigin(socket => socket.pause());
	const {client} = await forwarding();
	await open(client, 'f', port);
	const waiting = [read(client, 'f'), read(client, 'f'), write(client, 'f', Buffer.alloc(32 * MiB), true)].map(refusal);
	await client.call('environment/status');
	expect(await close(client, 'f')).toEqual({});
	expect(await Promise.all(waiting)).toEqual(Array(3).fill(broken('the forwarded connection was closed')));
	sockets[0]!.resume();
	await eventually(() => sockets[0]!.destroyed || sockets[0]!.readableEnded);
	expect(await refusal(read(client, 'f'))).toMatchObject({code: -32_004, message: 'unknown forward id f'});
	expect(await close(client, 'f')).toEqual({});
	await open(client, 'f', port);
});

test('reads do not wait without bound', async () => {
	const {port, sockets} = await rawOrigin(socket => socket.resume());
	const {client} = await forwarding();
	await open(client, 'f', port);
	const reads = Array.from({length: MAX_PENDING_READS}, () => read(client, 'f'));
	expect(await refusal(read(client, 'f'))).toEqual(
		broken(`more than ${MAX_PENDING_READS} reads wait for this connection`),
	);
	await eventually(() => sockets.length === 1);
	sockets[0]!.end();
	expect(new Set((await Promise.all(reads)).map(({eof}) => eof))).toEqual(new Set([true]));
	expect(await read(client, 'f')).toEqual({text: '', eof: true});
});

test('nothing stays open after the client has gone', async () => {
	const {port, sockets} = await rawOrigin(socket => socket.resume());
	const joined = await forwarding();
	await Promise.all(['a', 'b', 'c'].map(id => open(joined.client, id, port)));
	read(joined.client, 'a').catch(() => {});
	await eventually(() => sockets.length === 3);
	const ended = Promise.all(sockets.map(socket => once(socket, 'end')));
	await disconnect(joined);
	expect(await ended).toHaveLength(3);
});

test('one connection more than may be open is refused', async () => {
	const {port} = await rawOrigin(() => {});
	const {client} = await forwarding();
	await Promise.all(Array.from({length: MAX_FORWARDS}, (_, count) => open(client, `f${count}`, port)));
	expect(await refusal(open(client, 'more', port))).toEqual(broken(`more than ${MAX_FORWARDS} connections are open`));
	await close(client, 'f0');
	await open(client, 'more', port);
});

test('a port where nobody listens is an error, and the id free again', async () => {
	const {port} = await rawOrigin(echo);
	const {client} = await forwarding();
	expect(await refusal(open(client, 'f', 1))).toEqual(broken('connect ECONNREFUSED 127.0.0.1:1'));
	await open(client, 'f', port);
	expect(await refusal(open(client, 'f', port))).toEqual({code: -32_602, message: 'forward id f is already open'});
});
