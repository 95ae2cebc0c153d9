import {once} from 'node:events';
import {describe, expect, test} from 'vitest';
import {ForwardError} from '../../../src/client/ports/forward-error.js';
import type {PortConnection} from '../../../src/client/ports/port-connection.js';
import {RemotePorts} from '../../../src/client/ports/remote-ports.js';
import {Environment} from '../../../src/environments/environment.js';
import {eventually} from '../../helpers/processes.js';
import {type Serving, serving} from '../../helpers/serving.js';
import {waitTicks} from '../../helpers/ticks.js';
import {closeWithTest} from '../../helpers/transports.js';
import {echo, rawOrigin} from '../../network/origin.js';
import {FakeServer} from '../fake-server.js';

const MiB = 1024 * 1024;

const FORWARDING_ENVIRONMENTS: Record<string, () => Promise<Environment>> = {
	'this machine': async () => closeWithTest(Environment.local()),
	'a machine over WebSocket': async () => remote(await serving({allowForward: 'loopback'})),
};

function remote({url}: Serving): Environment {
	return closeWithTest(Environment.remote('there', {kind: 'websocket', url}));
}

async function everything({readable}: PortConnection): Promise<Buffer> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of readable) chunks.push(chunk);
	return Buffer.concat(chunks);
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
	return promise.then(
		() => 'no failure',
		(error: unknown) => error,
	);
}

describe.each(Object.entries(FORWARDING_ENVIRONMENTS))('%s', (_name, place) => {
	test('several connections carry megabytes both ways, byte for byte, and end one direction after the other', async () => {
		const {port, sockets} = await rawOrigin(echo);
		const environment = await place();
		const round = async (seed: number): Promise<void> => {
			const content = Buffer.from(Uint32Array.from({length: MiB}, (_, index) => index * seed).buffer);
			const tunnel = await environment.connect({host: '127.0.0.1', port});
			const back = everything(tunnel);
			const writer = tunnel.writable.getWriter();
			for (let at = 0; at < content.length; at += 300_000) await writer.write(content.subarray(at, at + 300_000));
			await writer.close();
			expect((await back).equals(content)).toBe(true);
		};
		await Promise.all([1, 2, 3].map(round));
		await eventually(() => sockets.every(socket => socket.destroyed));
	});

	test('a port may end its direction first and still hear the rest', async () => {
		const heard: Buffer[] = [];
		const {port, sockets} = await rawOrigin(socket => {
			socket.on('data', chunk => heard.push(chunk));
			socket.end('all I have to say');
		});
		const tunnel = await (await place()).connect({port});
		expect(String(await everything(tunnel))).toBe('all I have to say');
		const writer = tunnel.writable.getWriter();
		await writer.write(Buffer.from('a late answer'));
		await writer.close();
		await eventually(() => sockets[0]!.readableEnded);
		expect(String(Buffer.concat(heard))).toBe('a late answer');
	});

	test('a port nobody reads from has to wait, and loses nothing', async () => {
		const content = Buffer.alloc(32 * MiB, 'abcdefg');
		const {port, sockets} = await rawOrigin(socket => socket.end(content));
		const environment = await place();
		const tunnel = await environment.connect({port});
		const left = (): number => sockets[0]!.writableLength;
		for (let still = 0, before = -1; still < 20; before = left()) {
			await environment.status();
			await waitTicks();
			still = left() === before ? still + 1 : 0;
		}
		expect(sockets[0]!.writableFinished).toBe(false);
		expect((await everything(tunnel)).equals(content)).toBe(true);
		tunnel.close();
	});

	test('a port that does not read makes the writer wait', async () => {
		const {port, sockets} = await rawOrigin(socket => socket.pause());
		const environment = await place();
		const tunnel = await environment.connect({port});
		const writer = tunnel.writable.getWriter();
		let taken = 0;
		const writing = (async () => {
			for (; taken < 64; taken++) await writer.write(Buffer.alloc(MiB, 'x'));
			await writer.close();
		})();
		for (let still = 0, before = -1; still < 20; before = taken) {
			await environment.status();
			await waitTicks();
			still = taken === before ? still + 1 : 0;
		}
		expect(taken).toBeLessThan(64);
		let heard = 0;
		sockets[0]!.on('data', chunk => {
			heard += chunk.length;
		});
		sockets[0]!.resume();
		await writing;
		await eventually(() => heard === 64 * MiB);
		tunnel.close();
	});

	test('a port nobody listens on refuses, and others go on', async () => {
		const {port} = await rawOrigin(echo);
		const environment = await place();
		const tunnel = await environment.connect({port});
		const refused = await failure(environment.connect({host: '127.0.0.1', port: 1}));
		expect(refused).toBeInstanceOf(ForwardError);
		expect(refused).toMatchObject({code: 'failed', message: expect.stringContaining('ECONNREFUSED') as string});
		const writer = tunnel.writable.getWriter();
		await Promise.all([writer.write(Buffer.from('still here')), writer.close()]);
		expect(String(await everything(tunnel))).toBe('still here');
	});

	test('a reset is a failure of both directions, not an end', async () => {
		const {port, sockets} = await rawOrigin(socket => void socket.write('before'));
		const tunnel = await (await place()).connect({port});
		const reader = tunnel.readable.getReader();
		expect(String(Buffer.from((await reader.read()).value!))).toBe('before');
		sockets[0]!.resetAndDestroy();
		expect(await failure(reader.read())).toMatchObject({name: 'ForwardError', code: 'failed'});
		const writer = tunnel.writable.getWriter();
		expect(await failure(writer.write(Buffer.from('x')))).toMatchObject({name: 'ForwardError', code: 'failed'});
	});

	test('closing ends the connection at once', async () => {
		const {port, sockets} = await rawOrigin(socket => socket.resume());
		const tunnel = await (await place()).connect({port});
		await eventually(() => sockets.length === 1);
		const closed = once(sockets[0]!, 'end');
		tunnel.close();
		expect(await closed).toEqual([]);
	});

	test('a signal that is aborted before connects to nothing', async () => {
		const {port, sockets} = await rawOrigin(echo);
		const signal = AbortSignal.abort(new Error('enough'));
		expect(await failure((await place()).connect({port, signal}))).toMatchObject({message: 'enough'});
		expect(sockets).toEqual([]);
	});
});

test('a server that was not told to forward says how to allow it', async () => {
	const environment = remote(await serving());
	expect(await failure(environment.connect({port: 1}))).toMatchObject({
		name: 'ForwardError',
		code: 'refused',
		message: 'this server forwards no connections',
		hint: expect.stringContaining('--allow-forward loopback') as string,
	});
});

test('a server that forwards to itself refuses other hosts', async () => {
	const environment = remote(await serving({allowForward: 'loopback'}));
	expect(await failure(environment.connect({host: '192.0.2.1', port: 80}))).toMatchObject({code: 'refused'});
});

test('a server that has never heard of forwarding is not asked', async () => {
	const {client} = await FakeServer.greet({fsWatchMissing: true});
	const ports = new RemotePorts(async () => client);
	expect(await failure(ports.connect({port: 1}))).toMatchObject({name: 'ForwardError', code: 'unsupported'});
});

test('a lost link ends the connections on it, and new ones are made over the next', async () => {
	const {port} = await rawOrigin(echo);
	const server = await serving({allowForward: 'loopback'});
	const environment = remote(server);
	const tunnel = await environment.connect({port});
	const reading = failure(tunnel.readable.getReader().read());
	server.ends[0]!.rpc.destroy();
	expect(await reading).toMatchObject({name: 'ForwardError', code: 'disconnected'});
	const next = await environment.connect({port});
	const writer = next.writable.getWriter();
	await Promise.all([writer.write(Buffer.from('again')), writer.close()]);
	expect(String(await everything(next))).toBe('again');
});
