import {once} from 'node:events';
import {connect, Server} from 'node:net';
import {expect, onTestFinished, test, vi} from 'vitest';
import {WebSocket} from 'ws';
import {LongarmError} from '../../../src/shared/errors.js';
import {type Listener, type ListenOptions, listen} from '../../../src/transports/node/listener.js';
import type {Transport} from '../../../src/transports/transport.js';
import {hasIpv6, NO_IPV6, needsIpv6} from '../../helpers/needs.js';
import {eventually} from '../../helpers/processes.js';
import {rawRequest, request, UPGRADE} from '../../helpers/raw-http.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {clientFrame} from '../../helpers/raw-web-socket.js';
import {connected, listening, underlyingSocket} from '../../helpers/serving.js';

test.each<[string, Record<string, string>, number]>([
	['GET /readyz', {}, 200],
	['HEAD /readyz', {}, 200],
	['GET /readyz?probe=1', {}, 200],
	['POST /readyz', {}, 405],
	['DELETE /readyz', {}, 405],
	['GET /', {}, 400],
	['GET /?query', {}, 400],
	['HEAD /', {}, 405],
	['POST /', {}, 405],
	['PUT /', {'Content-Length': '0'}, 405],
	['GET /other', {}, 404],
	['POST /other', {}, 404],
	['GET /readyz/', {}, 404],
	['GET //', {}, 404],
	['GET /other', UPGRADE, 404],
	['GET /readyz', UPGRADE, 200],
	['POST /', UPGRADE, 405],
	['GET /', {...UPGRADE, Upgrade: 'h2c'}, 400],
	['GET /', {...UPGRADE, 'Sec-WebSocket-Key': 'short'}, 400],
])('%s with %j is answered with %i and no connection', async (line, headers, status) => {
	const accepted: Transport[] = [];
	const url = await listening(transport => accepted.push(transport));
	expect((await request(url, line, headers))[0]).toBe(status);
	expect(accepted).toEqual([]);
});

test.each(['https://example.com', 'null', '', 'http://127.0.0.1'])(
	'a request that names the origin %j is refused before anything else',
	async origin => {
		const accepted: Transport[] = [];
		const url = await listening(transport => accepted.push(transport));
		const answers = await Promise.all(
			['GET /readyz', 'POST /readyz', 'GET /', 'POST /', 'GET /other'].map(line =>
				request(url, line, {Origin: origin}),
			),
		);
		expect(answers).toEqual(Array.from({length: 5}, () => [403, '']));
		expect(await request(url, 'GET /', {...UPGRADE, Origin: origin})).toEqual([403, '']);
		expect(accepted).toEqual([]);
	},
);

test('answers have no body', async () => {
	const url = await listening(() => {});
	for (const line of ['GET /readyz', 'GET /', 'GET /other', 'POST /']) {
		expect((await request(url, line))[1]).toBe('');
	}
});

test.each(['/', '/?a=b', '/?'])(
	'an upgrade on %s is accepted, without compression and without a subprotocol',
	async path => {
		const url = await listening(transport => {
			RawPeer.open(transport);
			transport.send('hello');
		});
		const socket = new WebSocket(`${url}${path}`, ['one', 'two'], {perMessageDeflate: true});
		onTestFinished(() => socket.terminate());
		const opened = await new Promise<Record<string, unknown>>((resolve, reject) => {
			socket.once('upgrade', response => resolve(response.headers));
			socket.once('error', reject);
		}).catch(() => undefined);
		expect(opened).toMatchObject({upgrade: 'websocket'});
		expect(opened).not.toHaveProperty('sec-websocket-extensions');
		expect(opened).not.toHaveProperty('sec-websocket-protocol');
	},
);

function refused(options: Partial<ListenOptions>): Promise<unknown> {
	return listen({host: '127.0.0.1', port: 0, accept: () => {}, ...options}).catch((error: unknown) => error);
}

test.each(['0.0.0.0', '::', '192.0.2.7', 'fd00::2', '::ffff:0.0.0.0', '128.0.0.1', 'localhost', ''])(
	'%j is not listened on: it reaches beyond this machine, or may',
	async host => {
		const error = await refused({host});
		expect(error).toBeInstanceOf(LongarmError);
		expect(error).toMatchObject({
			code: 'LISTEN_REFUSED',
			message: `refusing to listen on ${host}: without authentication anybody who reaches it can run programs here`,
			context: {host},
		});
	},
);

async function listener(options: Partial<ListenOptions> = {}): Promise<Listener> {
	const opened = await listen({
		host: '127.0.0.1',
		port: 0,
		accept: transport => void RawPeer.open(transport),
		...options,
	});
	onTestFinished(() => opened.close());
	return opened;
}

test.for([
	['127.0.0.1', /^ws:\/\/127\.0\.0\.1:\d+$/],
	['127.8.7.6', /^ws:\/\/127\.8\.7\.6:\d+$/],
	['::1', /^ws:\/\/\[::1\]:\d+$/],
] as const)('%s is loopback, and the URL tells the real port', async ([host, pattern], {skip}) => {
	if (host === '::1' && !hasIpv6()) skip(NO_IPV6);
	const {url} = await listener({host});
	expect(url).toMatch(pattern);
	expect(new URL(url).port).not.toBe('0');
	await connected(url);
});

test('the network has to be allowed explicitly, which leaves loopback as it was', async () => {
	const {url} = await listener({dangerouslyAllowNetwork: true});
	await connected(url);
	// An address of nobody: what stops it now is the operating system.
	expect(await refused({host: '192.0.2.77', dangerouslyAllowNetwork: true})).toMatchObject({code: 'EADDRNOTAVAIL'});
});

test('a peer on IPv6 is named with brackets', needsIpv6(), async () => {
	let accepted!: Transport;
	const {url} = await listener({
		host: '::1',
		accept: transport => {
			accepted = transport;
			RawPeer.open(transport);
		},
	});
	const {localPort} = underlyingSocket(await connected(url));
	expect(accepted.peer).toBe(`websocket [::1]:${localPort}`);
});

test('a port that is taken is an error', async () => {
	const {url} = await listener();
	expect(await refused({port: Number(new URL(url).port)})).toMatchObject({code: 'EADDRINUSE'});
});

test('closing ends open connections, idle and unread ones alike, and takes no more', async () => {
	const ends: RawPeer[] = [];
	const opened = await listener({accept: transport => ends.push(new RawPeer(transport))});
	const {url} = opened;
	const [reading, stuck] = [await connected(url), await connected(url)];
	underlyingSocket(stuck).pause();
	for (let count = 0; count < 16; count++) ends[1]!.transport.send('x'.repeat(1_000_000));
	const gone = new Promise(resolve => reading.once('close', resolve));
	await opened.close();
	expect(await gone).toBe(1001);
	for (const end of ends) await end.untilClosed();
	await expect(connected(url)).rejects.toThrow('ECONNREFUSED');
});

test('closing does not wait for a request that never ends', async () => {
	const opened = await listener();
	const {hostname, port} = new URL(opened.url);
	const socket = connect({host: hostname, port: Number(port)});
	onTestFinished(() => void socket.destroy());
	socket.on('error', () => {});
	await new Promise(resolve => socket.once('connect', resolve));
	socket.write('GET /readyz HTTP/1.1\r\nHost: x\r\n');
	const gone = new Promise(resolve => socket.once('close', resolve));
	await opened.close();
	expect(await gone).toBeTypeOf('boolean');
});

/** Lets in who says a name, and calls it that. */
const byName: NonNullable<ListenOptions<string>['authorize']> = async ({authorization}) =>
	authorization === undefined ? {kind: 'refused', text: 'who?'} : {kind: 'pass', pass: authorization};

async function named(options: Partial<ListenOptions<string>> = {}): Promise<{url: string; passes: string[]}> {
	const passes: string[] = [];
	const opened = await listen<string>({
		host: '127.0.0.1',
		port: 0,
		authorize: byName,
		accept: (transport, pass) => {
			RawPeer.open(transport);
			passes.push(pass);
		},
		...options,
	});
	onTestFinished(() => opened.close());
	return {url: opened.url, passes};
}

test('whoever is let in comes with what the listener was told about them', async () => {
	const {url, passes} = await named();
	await connected(url, {headers: {authorization: 'ann'}});
	await connected(url, {headers: {authorization: 'bob'}});
	expect(passes).toEqual(['ann', 'bob']);
	const text = await rawRequest(url, 'GET /', UPGRADE);
	expect(text).toMatch(
		/^HTTP\/1\.1 401 Unauthorized\r\nConnection: close\r\nContent-Type: text\/plain; charset=utf-8\r\n/,
	);
	expect(text).toMatch(/\r\n\r\nwho\?$/);
	expect(passes).toHaveLength(2);
});

test('who may come in decides at its leisure, and a visitor that left meanwhile is forgotten', async () => {
	let decide!: () => void;
	const asked = new Promise<void>(resolve => {
		decide = resolve;
	});
	let visits = 0;
	const {url, passes} = await named({
		authorize: async () => {
			visits++;
			await asked;
			return {kind: 'pass', pass: 'late'};
		},
	});
	const gone = new WebSocket(url);
	gone.on('error', () => {});
	await eventually(() => visits === 1);
	gone.terminate();
	const patient = connected(url);
	// Its request comes behind the end of the other connection.
	await eventually(() => visits === 2);
	decide();
	await patient;
	expect(passes).toEqual(['late']);
});

test('a decision that fails lets nobody in', async () => {
	const {url, passes} = await named({
		authorize: async () => {
			throw new Error('no idea');
		},
		pages: {'/page': () => ({type: 'text/plain', body: 'secret'})},
	});
	expect(await rawRequest(url, 'GET /', UPGRADE)).toBe('');
	expect(await rawRequest(url, 'GET /page', {Connection: 'close'})).toBe('');
	expect(passes).toEqual([]);
});

test('both bounds on connections hold for those that were let in at the same time', async () => {
	const open: string[] = [];
	const {url, passes} = await named({
		maxConnections: 3,
		hasRoom: pass => open.filter(name => name === pass).length < 2,
		accept: (transport, pass) => {
			RawPeer.open(transport);
			open.push(pass);
		},
	});
	const outcomes = await Promise.allSettled(
		['ann', 'ann', 'ann', 'bob', 'bob'].map(authorization => connected(url, {headers: {authorization}})),
	);
	expect(outcomes.filter(({status}) => status === 'fulfilled')).toHaveLength(3);
	expect(open.filter(name => name === 'ann').length).toBeLessThanOrEqual(2);
	expect(passes).toEqual([]);
	expect((await request(url, 'GET /', {...UPGRADE, Authorization: 'ann'}))[0]).toBe(503);
});

test('a visitor that was refused and does not hang up is hung up on', async () => {
	const {url} = await named();
	const {hostname, port} = new URL(url);
	const socket = connect({host: hostname, port: Number(port), allowHalfOpen: true});
	onTestFinished(() => void socket.destroy());
	socket.on('error', () => {});
	const lines = Object.entries({Host: hostname, ...UPGRADE}).map(([name, value]) => `${name}: ${value}\r\n`);
	socket.write(`GET / HTTP/1.1\r\n${lines.join('')}\r\n`);
	socket.resume();
	// Ours stays open; only a server that lets go of its own end makes writing fail.
	const failed = new Promise(resolve => socket.once('close', resolve));
	const drip = setInterval(() => socket.write('x'), 50);
	onTestFinished(() => clearInterval(drip));
	expect(await failed).toBeTypeOf('boolean');
});

test('whoever comes before the listener is ready waits, and nothing of what they say is lost', async () => {
	let open!: () => void;
	const ready = new Promise<void>(resolve => {
		open = resolve;
	});
	const ends: RawPeer[] = [];
	const {url} = await listener({ready, accept: transport => ends.push(new RawPeer(transport))});
	const {hostname, port} = new URL(url);
	const early = connect({host: hostname, port: Number(port)});
	onTestFinished(() => void early.destroy());
	const headers = Object.entries({Host: 'localhost', ...UPGRADE}).map(([name, value]) => `${name}: ${value}\r\n`);
	const handshake = `GET / HTTP/1.1\r\n${headers.join('')}\r\n`;
	early.write(Buffer.concat([Buffer.from(handshake), clientFrame('"hello"')]));
	// It answers others meanwhile: the early one has certainly been heard of.
	expect((await fetch(`http://${hostname}:${port}/readyz`)).status).toBe(200);
	expect(ends).toEqual([]);
	open();
	await once(early, 'data');
	expect(await ends[0]!.nextText()).toBe('"hello"');
});

test('a connection that cannot be accepted does not end the server', async () => {
	const listens = vi.spyOn(Server.prototype, 'listen');
	onTestFinished(() => listens.mockRestore());
	const {url} = await listener({accept: transport => void RawPeer.open(transport)});
	const [server] = listens.mock.contexts as Server[];
	server!.emit('error', Object.assign(new Error('accept EMFILE'), {code: 'EMFILE'}));
	expect((await fetch(`${url.replace('ws:', 'http:')}/readyz`)).status).toBe(200);
	await connected(url);
});

const UNKNOWN_HOST = 'this server is not known by the name in the Host header; see --allow-host';

test.each([
	'evil.example',
	'evil.example:80',
	'localhost.evil.example',
	'127.0.0.1.evil.example',
	'192.0.2.7',
	'[2001:db8::1]',
	'127.0.0.1@evil.example',
	'evil.example#localhost',
	'',
	'[::1',
])('a request to the host %j gets no page and no connection: the name may have been made to lead here', async host => {
	const accepted: Transport[] = [];
	const {url} = await listener({
		accept: transport => accepted.push(transport),
		pages: {'/metrics': () => ({type: 'text/plain', body: 'secret'})},
	});
	expect(await request(url, 'GET /metrics', {Host: host})).toEqual([421, UNKNOWN_HOST]);
	expect(await request(url, 'GET /', {...UPGRADE, Host: host})).toEqual([421, UNKNOWN_HOST]);
	expect(await request(url, 'GET /readyz', {Host: host})).toEqual([200, '']);
	expect(accepted).toEqual([]);
});

test.each([
	'127.0.0.1:1',
	'127.9.9.9',
	'localhost',
	'LocalHost:4500',
	'localhost.',
	'[::1]:80',
	'Exec.Example',
	'devbox.',
])('a request to the host %j is meant for this server', async host => {
	const {url} = await listener({
		allowHosts: ['exec.example.', 'Devbox'],
		pages: {'/metrics': () => ({type: 'text/plain', body: 'page'})},
	});
	expect(await request(url, 'GET /metrics', {Host: host})).toEqual([200, 'page']);
});

test('a server for every address of the machine answers to any address, but to no other name', async () => {
	const {url} = await listener({
		host: '0.0.0.0',
		authorize: async () => ({kind: 'pass', pass: undefined}),
		pages: {'/metrics': () => ({type: 'text/plain', body: 'page'})},
	});
	const here = url.replace('0.0.0.0', '127.0.0.1');
	expect((await request(here, 'GET /metrics', {Host: '192.0.2.7:80'}))[0]).toBe(200);
	expect((await request(here, 'GET /metrics', {Host: 'evil.example'}))[0]).toBe(421);
});

test.each(['8', '7', '14', '013', ''])(
	'version %j of the protocol is refused, and the right one named',
	async version => {
		const {url} = await listener();
		const answer = await rawRequest(url, 'GET /', {...UPGRADE, 'Sec-WebSocket-Version': version});
		expect(answer).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/);
		expect(answer).toContain('\r\nSec-WebSocket-Version: 13\r\n');
	},
);
