import {once} from 'node:events';
import {createServer, type RequestListener, type Server} from 'node:http';
import {createServer as createSecureServer} from 'node:https';
import {type AddressInfo, connect} from 'node:net';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {type WebSocket, WebSocketServer} from 'ws';
import {Environment, fromWebSocket, StandardWebSocketTransport} from '../../../src/index.js';
import {type AttachOptions} from '../../../src/transports/node/attached-listener.js';
import {connectUnixSocket, connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import {listen} from '../../../src/transports/node/listener.js';
import {isServedHere} from '../../../src/transports/node/own-addresses.js';
import {createSelfSigned, inspectIdentity} from '../../../src/transports/node/self-signed-certificate.js';
import type {Transport} from '../../../src/transports/transport.js';
import {needsRoot, runAsNobody} from '../../helpers/needs.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {connected, execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

const APPLICATION: RequestListener = (request, response) => response.end(`page ${request.url}`);

/** A server of an application, closed with the test. */
async function application(
	host: string | undefined = '127.0.0.1',
	server: Server = createServer(APPLICATION),
): Promise<Server> {
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	server.listen(0, host);
	await once(server, 'listening');
	return server;
}

async function attached(server: Server, options: Partial<AttachOptions> = {}) {
	const exec = execServer();
	const listener = await listen({server, path: '/exec', accept: transport => void exec.accept(transport), ...options});
	onTestFinished(() => listener.close());
	return listener;
}

function portOf(server: Server): number {
	return (server.address() as AddressInfo).port;
}

async function page(server: Server, path: string): Promise<string> {
	return (await fetch(`http://127.0.0.1:${portOf(server)}${path}`)).text();
}

/** Status and body of a raw request. */
async function raw(server: Server, head: string, to = '127.0.0.1'): Promise<string> {
	const socket = connect(portOf(server), to);
	socket.end(head.replaceAll('\n', '\r\n'));
	let text = '';
	for await (const bytes of socket) text += String(bytes);
	return text;
}

const UPGRADE =
	'Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\n\n';

test('upgrade requests for the path are ours, every other request stays that of the server', async () => {
	const server = await application();
	const {url} = await attached(server);
	expect(url).toBe(`ws://127.0.0.1:${portOf(server)}/exec`);
	for (const address of [url!, `${url}/`, `${url}?x=1`]) {
		const client = await new TestClient(await connectWebSocket(address)).initialize();
		await client.sh('p', 'echo hi');
		expect((await client.done('p')).stdout).toBe('hi\n');
	}
	for (const path of ['/', '/exec', '/exec/x', '/readyz']) expect(await page(server, path)).toBe(`page ${path}`);
});

test('a whole environment works through it', async () => {
	const {url} = await attached(await application());
	await using there = Environment.remote('there', {kind: 'websocket', url: url!});
	expect((await there.run(['echo', 'hi'])).stdout.text).toBe('hi\n');
});

test('an upgrade to something else is answered by the server as if we were not there', async () => {
	const server = await application();
	const head = `GET /other HTTP/1.1\nHost: localhost\nConnection: Upgrade\nUpgrade: h2c\n\n`;
	const before = await raw(server, head.replace('Connection: Upgrade', 'Connection: close'));
	await attached(server);
	const after = await raw(server, head);
	expect([before, after].map(text => text.split('\r\n\r\n')[1])).toEqual(['page /other', 'page /other']);
	expect(await raw(server, `GET /else HTTP/1.1\nHost: localhost\n${UPGRADE}`)).toContain('page /else');
	const withBody = head.replace('GET', 'POST').replace('\n\n', '\nContent-Length: 3\n\nabc');
	expect(await raw(server, withBody)).toMatch(/^HTTP\/1\.1 400 /);
});

test('other handlers of upgrades get the other paths', async () => {
	const server = await application();
	await attached(server);
	const webSockets = new WebSocketServer({noServer: true});
	server.on('upgrade', (request, socket, head) => {
		if (request.url === '/chat')
			webSockets.handleUpgrade(request, socket, head, chat => {
				chat.on('message', text => chat.send(text));
			});
	});
	const chat = await connected(`ws://127.0.0.1:${portOf(server)}/chat`);
	chat.send('hello');
	const [message] = (await once(chat, 'message')) as [Buffer];
	expect(message.toString()).toBe('hello');
});

describe('the same checks apply as to a listener of our own', () => {
	test('for origins, names and connections', async () => {
		const server = await application();
		const refused: number[] = [];
		const {url} = await attached(server, {
			maxConnections: 1,
			allowHosts: ['exec.example'],
			allowOrigins: ['https://good.example'],
			onRefused: ({status}) => refused.push(status),
		});
		const asked = (headers: string) => raw(server, `GET /exec HTTP/1.1\n${headers}\n${UPGRADE}`);
		expect(await asked('Host: evil.example')).toMatch(/^HTTP\/1\.1 421 /);
		expect(await asked('Host: localhost\nOrigin: https://evil.example')).toMatch(/^HTTP\/1\.1 403 /);
		for (const headers of [{host: 'exec.example'}, {origin: 'https://good.example'}]) {
			(await connected(url!, {headers})).terminate();
		}
		await expect(
			(async () => {
				await connected(url!);
				await connected(url!);
			})(),
		).rejects.toThrow('503');
		expect(refused).toEqual([421, 403, 503]);
	});

	test('for tokens', async () => {
		const {url} = await attached(await application(), {
			authorize: async ({authorization}) =>
				authorization === 'Bearer right' ? {kind: 'pass', pass: undefined} : {kind: 'refused', text: 'no'},
		});
		await expect(connectWebSocket(url!)).rejects.toThrow('401');
		(await connectWebSocket(url!, {token: 'right'})).destroy();
	});

	test('for other users', needsRoot(), async () => {
		const server = await application();
		await attached(server);
		const text = await runAsNobody(() => raw(server, `GET /exec HTTP/1.1\nHost: localhost\n${UPGRADE}`));
		expect(text).toMatch(/^HTTP\/1\.1 403 .*only the user 0 of this machine may connect/s);
	});

	test('for connections that do not come over loopback, as long as there is no authentication', async context => {
		const {networkInterfaces} = await import('node:os');
		const own = Object.values(networkInterfaces())
			.flatMap(all => all ?? [])
			.find(({family, internal}) => family === 'IPv4' && !internal)?.address;
		if (own === undefined) return context.skip('this machine has no address but loopback');
		const server = await application('0.0.0.0');
		const listener = await attached(server);
		await expect(connectWebSocket(`ws://${own}:${portOf(server)}/exec`)).rejects.toThrow('403');
		(await connectWebSocket(`ws://127.0.0.1:${portOf(server)}/exec`)).destroy();
		await listener.close();
		await attached(server, {dangerouslyAllowNetwork: true});
		(await connectWebSocket(`ws://${own}:${portOf(server)}/exec`)).destroy();
	});

	test('for sockets in the file system, whose owner decides who may open them', async () => {
		const path = join(scratchDirectory(), 's');
		const server = createServer(APPLICATION).listen(path);
		onTestFinished(() => void server.close());
		await once(server, 'listening');
		const listener = await attached(server, {path: '/'});
		expect(listener.url).toBeUndefined();
		await expect(connectUnixSocket(path)).rejects.toThrow('403');
		await listener.close();
		await attached(server, {path: '/', authorize: async () => ({kind: 'pass', pass: undefined})});
		(await connectUnixSocket(path)).destroy();
	});

	test('for processes that the caller refuses', async () => {
		const {url} = await attached(await application(), {refuseLocalPeer: ({kind}) => `no ${kind}`});
		await expect(connectWebSocket(url!)).rejects.toThrow('403');
	});
});

test('a server with TLS is one for wss', async () => {
	const identity = createSelfSigned(['127.0.0.1']);
	const server = await application('127.0.0.1', createSecureServer({...identity}, APPLICATION));
	const {url} = await attached(server);
	expect(url).toMatch(/^wss:/);
	(await connectWebSocket(url!, {tls: {fingerprint: inspectIdentity(identity)!.fingerprint}})).destroy();
});

test('a server that listens later has its address then', async () => {
	const server = createServer(APPLICATION);
	const listener = await attached(server);
	expect(listener.url).toBeUndefined();
	await application('127.0.0.1', server);
	(await connectWebSocket(listener.url!)).destroy();
	expect(isServedHere('127.0.0.1', portOf(server))).toBe(true);
	await listener.close();
	expect(isServedHere('127.0.0.1', portOf(server))).toBe(false);
});

test('closing ends our connections and leaves the server, its pages and other connections alone', async () => {
	const server = await application();
	const listener = await attached(server);
	const client = await connected(listener.url!);
	const closed = once(client, 'close');
	await listener.close();
	expect((await closed)[0]).toBe(1001);
	expect(server.listening).toBe(true);
	expect(server.listenerCount('upgrade')).toBe(0);
	expect(await page(server, '/exec')).toBe('page /exec');
	await attached(server);
	(await connectWebSocket(`ws://127.0.0.1:${portOf(server)}/exec`)).destroy();
});

test('a listener that is closed twice leaves the path to the one that has taken it since', async () => {
	const server = await application();
	const first = await attached(server);
	await first.close();
	await attached(server);
	await first.close();
	await expect(attached(server)).rejects.toThrow('there is a listener for /exec on this server already');
});

test('a path that is taken or none is refused', async () => {
	const server = await application();
	await attached(server);
	await expect(attached(server, {path: '/exec/'})).rejects.toThrow(
		'there is a listener for /exec/ on this server already',
	);
	for (const path of ['exec', '/a?b', '/a#b', '/a b', '']) {
		await expect(attached(server, {path})).rejects.toThrow('is no path');
	}
});

async function accepting(options: {perMessageDeflate?: boolean}, wrap: (socket: WebSocket) => Transport) {
	const exec = execServer();
	const failed: unknown[] = [];
	const webSockets = new WebSocketServer({port: 0, host: '127.0.0.1', ...options});
	webSockets.on('connection', socket => {
		try {
			exec.accept(wrap(socket));
		} catch (error) {
			failed.push(error);
			socket.terminate();
		}
	});
	onTestFinished(() => webSockets.close());
	await once(webSockets, 'listening');
	return {url: `ws://127.0.0.1:${(webSockets.address() as AddressInfo).port}`, failed};
}

describe('a WebSocket that the caller has accepted', () => {
	test.each<[string, (socket: WebSocket) => Transport]>([
		['of the package ws', socket => fromWebSocket(socket, {end: 'server', peer: 'browser'})],
		['of the web platform', socket => new StandardWebSocketTransport(socket as unknown as globalThis.WebSocket, 'x')],
	])('%s carries a session', async (_, wrap) => {
		const {url} = await accepting({}, wrap);
		const client = await new TestClient(await connectWebSocket(url)).initialize();
		await client.sh('p', 'head -c 300000 /dev/zero | tr "\\\\0" x');
		expect((await client.done('p')).stdout.length).toBe(300_000);
	});

	test('is refused if it compresses, or is not open', async () => {
		const {url, failed} = await accepting({perMessageDeflate: true}, socket => fromWebSocket(socket, {end: 'server'}));
		const socket = await connected(url, {perMessageDeflate: true});
		if (socket.readyState === socket.OPEN) await once(socket, 'close');
		expect(String(failed[0])).toContain('perMessageDeflate: false');
		expect(() => fromWebSocket(socket, {end: 'client'})).toThrow('expected an open WebSocket of the package ws');
	});
});
