import type {ServerResponse} from 'node:http';
import {expect, test, vi} from 'vitest';
import {MAX_BUFFERED_BODY_BYTES} from '../../src/network/http/read-body.js';
import {base64Length} from '../../src/shared/base64.js';
import {stopClock} from '../helpers/clock.js';
import {eventually} from '../helpers/processes.js';
import {join, serving} from '../helpers/serving.js';
import {failed, HttpClient, httpClient, textOf} from '../network/http-client.js';
import {answering, origin, rawOrigin} from '../network/origin.js';

const sending = (url: string, cause: string) =>
	failed(`http/request failed: error sending request for url (${url}/): ${cause}`);
const TIMED_OUT = failed('http/request failed: route-aware request timed out');
const TOO_LARGE = failed(
	'failed to read http/request response body: it is larger than the 46MiB that fit a reply; ask for it with streamResponse',
);

test('an origin that never answers is given up after the time limit, and its connection closed', async () => {
	const {url, sockets} = await rawOrigin(socket => socket.resume());
	const http = await httpClient();
	stopClock();
	const refused = http.refusal(url, {timeoutMs: 30});
	await eventually(() => sockets.length === 1);
	vi.advanceTimersByTime(30);
	expect(await refused).toEqual(TIMED_OUT);
	await eventually(() => sockets[0]!.readableEnded);
});

test('no time at all fails at once, without a connection', async () => {
	const {url, sockets} = await origin();
	const http = await httpClient();
	expect(await http.refusal(url, {timeoutMs: 0})).toEqual(TIMED_OUT);
	expect(await http.text(url, {timeoutMs: null})).toBe('ok');
	expect(sockets.length).toBe(1);
});

test('a time limit beyond any timer does not end at once', async () => {
	const held: ServerResponse[] = [];
	const {url} = await origin((_, response) => held.push(response));
	const http = await httpClient();
	const text = http.text(url, {timeoutMs: 2 ** 40});
	await eventually(() => held.length === 1);
	// A timer that overflows fires after 1 ms; this one takes longer.
	expect(await http.refusal(url, {timeoutMs: 20})).toEqual(TIMED_OUT);
	held[0]!.end('late');
	expect(await text).toBe('late');
});

test('a time limit covers redirects', async () => {
	const {url, seen} = await origin((request, response) => {
		const count = Number(request.url!.slice(1));
		if (count < 3) response.writeHead(307, {location: `/${count + 1}`}).end();
	});
	const http = await httpClient();
	stopClock();
	const refused = http.refusal(`${url}/1`, {timeoutMs: 100});
	await eventually(() => seen.length === 3);
	vi.advanceTimersByTime(100);
	expect(await refused).toEqual(TIMED_OUT);
});

test.each([
	['nothing', '', 'the connection was closed early'],
	['something else', 'nonsense\r\n\r\n', 'Parse Error: Expected HTTP/, RTSP/ or ICE/'],
	['half a head', 'HTTP/1.1 200 OK\r\nx: ', 'the connection was closed early'],
	['a head without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(300 * 1024)}\r\n\r\n`, 'Parse Error: Header overflow'],
	[
		'another protocol',
		'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
		'the origin switched to another protocol',
	],
])('an origin that answers %s is an error', async (_, answer, cause) => {
	const {url} = await rawOrigin(answering(answer, socket => socket.end()));
	expect(await (await httpClient()).refusal(url)).toEqual(sending(url, cause));
});

test('a name that does not exist and a port where nobody listens are errors that say so', async () => {
	const http = await httpClient();
	expect(await http.refusal('http://127.0.0.1:1')).toEqual(
		sending('http://127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1'),
	);
	expect(await http.refusal('http://nothing.invalid')).toMatchObject({
		code: -32_603,
		message: expect.stringMatching(
			/^http\/request failed: .*\(http:\/\/nothing\.invalid\/\): .*nothing\.invalid/,
		) as string,
	});
});

test('a head of 200 KiB is taken', async () => {
	const {url} = await rawOrigin(
		answering(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200 * 1024)}\r\ncontent-length: 2\r\n\r\nok`),
	);
	expect(textOf(await (await httpClient()).request(url))).toBe('ok');
});

test('a head of very many headers is returned whole, with a body as large as can be', async () => {
	const head = Array.from({length: 25_000}, (_, index) => `x${index}:`).join('\r\n');
	const body = Buffer.alloc(MAX_BUFFERED_BODY_BYTES);
	const {url} = await rawOrigin(
		answering(`HTTP/1.1 200 OK\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n`, socket => socket.write(body)),
	);
	const response = await (await httpClient()).request(url);
	expect([response.headers.length, response.bodyBase64.length]).toEqual([25_001, base64Length(body.length)]);
});

test('a body as large as a reply can carry is returned whole', async () => {
	const content = Buffer.alloc(MAX_BUFFERED_BODY_BYTES, 'body');
	const {url} = await origin((_, response) => response.end(content));
	const {client} = await join(await serving({variables: {}}));
	const {bodyBase64} = await new HttpClient(client).request(url);
	expect(Buffer.from(bodyBase64, 'base64').equals(content)).toBe(true);
});

test('a larger one is given up, at once if it says so and while it is read otherwise', async () => {
	const {url, sockets} = await origin((request, response) => {
		if (request.url === '/announced') response.writeHead(200, {'content-length': MAX_BUFFERED_BODY_BYTES + 1});
		const flood = (): void => {
			while (!response.destroyed && response.write(Buffer.alloc(65_536)));
		};
		response.on('drain', flood);
		if (request.url === '/announced') response.write('some of it');
		else flood();
	});
	const http = await httpClient();
	expect(await http.refusal(`${url}/announced`)).toEqual(TOO_LARGE);
	expect(await http.refusal(`${url}/endless`)).toEqual(TOO_LARGE);
	await eventually(() => sockets.length === 2 && sockets.every(socket => socket.destroyed));
});

test('the length of a body that is not sent is no matter', async () => {
	const {url} = await origin((_, response) => response.writeHead(200, {'content-length': 10 ** 12}).end());
	expect(await (await httpClient()).request(url, {method: 'HEAD'})).toMatchObject({status: 200, bodyBase64: ''});
});

test('no more is kept for one client than is bounded, and streams are not counted', async () => {
	const half = Buffer.alloc(40 * 1024 * 1024);
	const held: (() => void)[] = [];
	const {url} = await origin((_, response) => {
		response.writeHead(200, {'content-length': half.length + 1});
		response.write(half);
		held.push(() => response.end('.'));
	});
	const http = await httpClient();
	const results = Array.from({length: 4}, () => http.refusal(url));
	await http.stream(url, 's');
	await Promise.race(results);
	for (const end of held) end();
	const texts = (await Promise.all(results)).map(result => (result as {message?: string}).message);
	expect(texts.filter(text => text !== undefined)).toEqual([
		'failed to read http/request response body: the bodies of this connection take more than 128MiB at once; ask for them with streamResponse',
	]);
	expect((await http.body('s')).bytes.length).toBe(half.length + 1);
});
