import {createServer} from 'node:https';
import type {AddressInfo} from 'node:net';
import {expect, onTestFinished, test, vi} from 'vitest';
import {Deferred} from '../../src/shared/async/deferred.js';
import {needsIpv6} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';
import {CERTIFICATE} from '../network/certificate.js';
import {failed, HttpClient, httpClient} from '../network/http-client.js';
import {answering, origin, rawOrigin} from '../network/origin.js';
import {proxy} from '../network/proxy.js';

/** Answers with the name it was asked for and the values of x-test. */
async function secureOrigin(): Promise<{url: string; port: number}> {
	const server = createServer(CERTIFICATE, (request, response) => {
		const {servername} = request.socket as unknown as {servername: string | false};
		response.end(`${servername} ${request.headers.host} ${String(request.headers['x-test'])}`);
	});
	await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => {
		server.close();
		server.closeAllConnections();
	});
	const {port} = server.address() as AddressInfo;
	return {url: `https://localhost:${port}`, port};
}

test('requests of one client share connections, those of two never do', async () => {
	const {url, sockets} = await origin();
	const server = execServer({variables: {}});
	const [one, two] = await Promise.all([0, 1].map(() => TestClient.overMemory(server).initialize()));
	for (let round = 0; round < 3; round++) {
		for (const client of [one!, two!]) expect(await new HttpClient(client).text(url)).toBe('ok');
	}
	expect(sockets.length).toBe(2);
	one!.rpc.destroy();
	await eventually(() => sockets[0]!.destroyed);
	expect(sockets[1]!.destroyed).toBe(false);
});

test('no more than a few connections are kept, however many origins are asked', async () => {
	const {port, sockets} = await origin(undefined, '0.0.0.0');
	const http = await httpClient();
	for (let last = 1; last <= 80; last++) expect(await http.text(`http://127.0.0.${last}:${port}`)).toBe('ok');
	await eventually(() => sockets.filter(socket => !socket.destroyed).length === 64);
});

test('a connection in use is used again, however many other origins are asked meanwhile', async () => {
	const held = new Deferred();
	const {port, sockets} = await origin((request, response) => {
		if (request.url !== '/held') response.end('ok');
		else void held.promise.then(() => response.end('ok'));
	}, '0.0.0.0');
	const http = await httpClient();
	const own = `http://127.0.0.1:${port}`;
	const first = http.text(`${own}/held`);
	await eventually(() => sockets.length === 1);
	for (let last = 2; last <= 200; last++)
		await http.text(`http://127.0.0.${last}:${port}`, {
			headers: [{name: 'connection', value: 'close'}],
		});
	held.resolve();
	expect(await first).toBe('ok');
	const {length} = sockets;
	expect(await http.text(own)).toBe('ok');
	expect(sockets.length).toBe(length);
});

test('a kept connection that the origin has ended does not fail the next request', async () => {
	let requests = 0;
	// Ends each connection with the second request on it, unanswered.
	const {url, sockets} = await rawOrigin(socket => {
		let served = false;
		socket.on('data', () => {
			requests++;
			if (served) return void socket.resetAndDestroy();
			served = true;
			socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
		});
	});
	const http = await httpClient();
	expect(await http.text(url)).toBe('ok');
	expect(await http.text(url, {method: 'PUT', bodyBase64: 'YWJj'})).toBe('ok');
	expect([sockets.length, requests]).toEqual([2, 3]);
	// What may not be sent twice is not.
	expect(await http.refusal(url, {method: 'POST'})).toMatchObject({code: -32_603});
	expect(requests).toBe(4);
});

test('a connection that breaks on its first request is not tried again', async () => {
	const {url, sockets} = await rawOrigin(socket => socket.on('data', () => socket.resetAndDestroy()));
	expect(await (await httpClient()).refusal(url)).toMatchObject({code: -32_603});
	expect(sockets.length).toBe(1);
});

test('an IPv6 address is connected to and named as it should be', needsIpv6(), async () => {
	const {port, seen} = await origin(undefined, '::1');
	expect(await (await httpClient()).text(`http://[::1]:${port}/`)).toBe('ok');
	expect(seen[0]!.headers.host).toBe(`[::1]:${port}`);
});

test('a certificate nobody vouches for is an error', async () => {
	const {url} = await secureOrigin();
	expect(await (await httpClient()).refusal(url)).toEqual(
		failed(`http/request failed: error sending request for url (${url}/): self-signed certificate`),
	);
});

test('the name asked for in the handshake is that of the URL, whatever the Host header says', async () => {
	vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
	onTestFinished(() => void vi.unstubAllEnvs());
	const {url, port} = await secureOrigin();
	const http = await httpClient();
	const headers = [{name: 'host', value: 'example.com'}];
	expect(await http.text(url, {headers})).toBe('localhost example.com undefined');
	expect(await http.text(`https://127.0.0.1:${port}`)).toBe(`false 127.0.0.1:${port} undefined`);
});

test.each(['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'])(
	'plain requests go through the proxy of %s',
	async name => {
		const {url, seen, port: originPort} = await origin();
		const {port, asked} = await proxy();
		const http = await httpClient({variables: {[name]: `http://user:pa%20ss@127.0.0.1:${port}`}});
		const headers = ['one', 'two'].map(value => ({name: 'x-test', value}));
		expect(await http.text(`${url}/path?q`, {method: 'POST', headers, bodyBase64: 'YWJj'})).toBe('ok');
		expect(asked).toEqual([
			{
				line: `POST ${url}/path?q`,
				headers: {
					'x-test': 'one, two',
					accept: '*/*',
					'proxy-authorization': `Basic ${Buffer.from('user:pa ss').toString('base64')}`,
					host: `127.0.0.1:${originPort}`,
					'content-length': '3',
				},
			},
		]);
		expect([seen[0]!.url, seen[0]!.body]).toEqual(['/path?q', 'abc']);
	},
);

test('encrypted requests go through a tunnel of the proxy, which is used again', async () => {
	vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
	onTestFinished(() => void vi.unstubAllEnvs());
	const {url, port: originPort} = await secureOrigin();
	const {port, asked} = await proxy();
	const http = await httpClient({variables: {https_proxy: `user:word@127.0.0.1:${port}`, http_proxy: 'nonsense://'}});
	const headers = ['one', 'two'].map(value => ({name: 'x-test', value}));
	for (let count = 0; count < 2; count++) {
		expect(await http.text(url, {headers})).toBe(`localhost localhost:${originPort} one, two`);
	}
	expect(asked.map(({line}) => line)).toEqual([`CONNECT localhost:${originPort}`]);
	expect(asked[0]!.headers['proxy-authorization']).toBe(`Basic ${Buffer.from('user:word').toString('base64')}`);
});

test('a proxy that refuses the tunnel, or leaves it open, is an error', async () => {
	const through = await proxy();
	const http = await httpClient({variables: {https_proxy: `http://127.0.0.1:${through.port}`}});
	through.connectStatus = '407 Proxy Authentication Required';
	const sending = 'http/request failed: error sending request for url (https://localhost:1/):';
	expect(await http.refusal('https://localhost:1')).toEqual(
		failed(`${sending} the proxy refused the connection with status 407`),
	);
	through.connectStatus = 'nothing';
	expect(await http.refusal('https://localhost:1', {timeoutMs: 30})).toEqual(
		failed('http/request failed: route-aware request timed out'),
	);
});

test.each([
	['*', true],
	['example.com, 127.0.0.1', true],
	['127.0.0.1:PORT', true],
	['127.0.0.0/8', true],
	['127.0.0.1:1', false],
	['0.0.1', false],
	['10.0.0.0/8 nonsense/99 /', false],
	['', false],
])('no_proxy %j spares the origin the proxy: %s', async (text, spared) => {
	const {url, port: originPort} = await origin();
	const {port, asked} = await proxy();
	const variables = {http_proxy: `http://127.0.0.1:${port}`, NO_PROXY: text.replace('PORT', String(originPort))};
	expect(await (await httpClient({variables})).text(url)).toBe('ok');
	expect(asked.length).toBe(spared ? 0 : 1);
});

test.each([
	['http://', 'http_proxy of the executor is not the URL of a proxy'],
	['http://user:secret@host:port', 'http_proxy of the executor is not the URL of a proxy'],
	['socks5://user:secret@127.0.0.1:1', 'http_proxy of the executor names a proxy of an unsupported kind (socks5)'],
])('the proxy %s is an error that does not show it', async (http_proxy, reason) => {
	const {url, sockets} = await origin();
	expect(await (await httpClient({variables: {http_proxy}})).refusal(url)).toEqual(
		failed(`http/request failed: ${reason}`),
	);
	expect(sockets).toEqual([]);
});

test.each([
	[
		'more than the response',
		'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil',
	],
	['that it closes the connection', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'],
	['that it waits no second', 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok'],
	['as HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok'],
])('a connection on which an origin sends %s is not used again', async (_, answer) => {
	const {url, sockets} = await rawOrigin(answering(answer));
	const http = await httpClient();
	for (let round = 0; round < 3; round++) expect(await http.text(url)).toBe('ok');
	expect(sockets.length).toBe(3);
});

test('a response before the end of the request is returned, and its connection is not used again', async () => {
	const {url, sockets} = await rawOrigin(socket => {
		socket.once('data', () => {
			socket.pause();
			socket.write('HTTP/1.1 413 No\r\ncontent-length: 2\r\n\r\nno');
		});
	});
	const http = await httpClient();
	const body = Buffer.alloc(24 * 1024 * 1024).toString('base64');
	for (let round = 0; round < 2; round++) {
		expect(await http.request(url, {method: 'PUT', bodyBase64: body})).toMatchObject({status: 413});
	}
	expect(sockets.length).toBe(2);
});
