import {randomBytes} from 'node:crypto';
import {deflateSync, gzipSync} from 'node:zlib';
import {describe, expect, test} from 'vitest';
import {HttpError} from '../../../src/client/http/http-error.js';
import {withTimeEnough} from '../../helpers/clock.js';
import {eventually} from '../../helpers/processes.js';
import {answering, origin, rawOrigin} from '../../network/origin.js';
import {LOCAL_AND_REMOTE} from '../local-and-remote.js';

const failing = (code: HttpError['code'], message: RegExp = /./) => ({
	constructor: HttpError,
	code,
	message: expect.stringMatching(message) as string,
});

async function nextOf(reader: {read(): Promise<{value?: Uint8Array | undefined}>}): Promise<string> {
	return new TextDecoder().decode((await reader.read()).value);
}

describe.each(Object.entries(LOCAL_AND_REMOTE))('%s', (_name, machine) => {
	test('a request is sent as it is, and its response is a standard one', async () => {
		const {http} = await machine();
		const {url, seen} = await origin((_request, response) => {
			response.writeHead(201, [
				['Content-Type', 'application/json'],
				['Set-Cookie', 'a=1'],
				['Set-Cookie', 'b=2'],
			]);
			response.end('{"a":1}');
		});
		const response = await http.fetch(new URL('/path?q#f', url), {headers: {'X-Mine': 'yes'}});
		expect(response).toBeInstanceOf(Response);
		expect([response.status, response.ok, await response.json()]).toEqual([201, true, {a: 1}]);
		expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
		expect(seen[0]).toMatchObject({method: 'GET', url: '/path?q', body: '', headers: {'x-mine': 'yes', accept: '*/*'}});
	});

	test('every kind of body is sent, with the type that belongs to it', async () => {
		const {http} = await machine();
		const {url, seen} = await origin();
		const form = new FormData();
		form.set('name', 'value');
		const stream = new ReadableStream<Uint8Array>({
			start: controller => {
				controller.enqueue(Buffer.from('in '));
				controller.enqueue(Buffer.from('pieces'));
				controller.close();
			},
		});
		const bodies = [
			'text',
			Buffer.from('bytes'),
			new URLSearchParams({a: 'b c'}),
			new Blob(['blob'], {type: 'text/css'}),
			form,
			stream,
			'',
		];
		for (const body of bodies) await (await http.fetch(url, {method: 'POST', body})).text();
		await (await http.fetch(new Request(url, {method: 'PUT', body: 'of a request', headers: {a: 'b'}}))).text();
		expect(seen.map(({headers, body}) => [headers['content-type'], body])).toEqual([
			['text/plain;charset=UTF-8', 'text'],
			[undefined, 'bytes'],
			['application/x-www-form-urlencoded;charset=UTF-8', 'a=b+c'],
			['text/css', 'blob'],
			[
				expect.stringMatching(/^multipart\/form-data; boundary=/),
				expect.stringMatching(/name="name"\r\n\r\nvalue\r\n/),
			],
			[undefined, 'in pieces'],
			['text/plain;charset=UTF-8', ''],
			['text/plain;charset=UTF-8', 'of a request'],
		]);
		expect(seen.at(-1)).toMatchObject({method: 'PUT', headers: {a: 'b'}});
	});

	test('a large body arrives whole and in order', async () => {
		const {http} = await machine();
		const content = randomBytes(5_000_000);
		const {url} = await origin((_request, response) => response.end(content));
		const body = await (await http.fetch(url)).arrayBuffer();
		expect(Buffer.from(body).equals(content)).toBe(true);
	});

	test('a body is there as it arrives, before its end', async () => {
		const {http} = await machine();
		let finish!: () => void;
		const {url} = await origin((_request, response) => {
			response.write('first');
			finish = () => response.end('last');
		});
		const reader = (await http.fetch(url)).body!.getReader();
		expect(await nextOf(reader)).toBe('first');
		finish();
		expect(await nextOf(reader)).toBe('last');
		expect((await reader.read()).done).toBe(true);
	});

	test('many small pieces arrive, however fast they come', async () => {
		const {http} = await machine();
		const {url} = await origin((_request, response) => {
			for (let index = 0; index < 2000; index++) response.write(`${index}\n`);
			response.end();
		});
		const text = await (await http.fetch(url)).text();
		expect(text).toBe(Array.from({length: 2000}, (_, index) => `${index}\n`).join(''));
	});

	test('redirects are followed, handed out or refused', async () => {
		const {http} = await machine();
		const {url} = await origin((request, response) => {
			if (request.url === '/new') response.end('here');
			else response.writeHead(302, {location: '/new'}).end();
		});
		expect(await (await http.fetch(url)).text()).toBe('here');
		const manual = await http.fetch(`${url}/old`, {redirect: 'manual'});
		expect([manual.status, manual.headers.get('location'), manual.url]).toEqual([302, '/new', `${url}/old`]);
		await expect(http.fetch(url, {redirect: 'error'})).rejects.toMatchObject(failing('redirected'));
		expect(await (await http.fetch(`${url}/new`, {redirect: 'error'})).text()).toBe('here');
	});

	test('responses that have no body have none', async () => {
		const {http} = await machine();
		const {url} = await origin((request, response) => {
			response.writeHead(Number(request.url!.slice(1)), {'x-mine': 'yes'}).end();
		});
		for (const status of [204, 205, 304]) {
			const response = await http.fetch(`${url}/${status}`);
			expect([response.status, response.body, response.headers.get('x-mine')]).toEqual([status, null, 'yes']);
		}
		const head = await http.fetch(`${url}/200`, {method: 'HEAD'});
		expect([head.status, head.body]).toEqual([200, null]);
		expect(await (await http.fetch(`${url}/200`)).text()).toBe('');
	});

	test('compressed bodies are unpacked where that is possible, unless they are wanted as they are', async () => {
		const {http} = await machine();
		const packed: Record<string, Buffer> = {
			gzip: gzipSync('text'),
			deflate: deflateSync('text'),
			'deflate, gzip': gzipSync(deflateSync('text')),
			br: Buffer.from('whatever'),
		};
		const {url, seen} = await origin((request, response) => {
			const coding = String(request.headers['x-coding']);
			response.writeHead(200, {'content-encoding': coding}).end(packed[coding]);
		});
		const get = (coding: string, decode?: boolean) => http.fetch(url, {headers: {'x-coding': coding}, decode});
		for (const coding of ['gzip', 'deflate', 'deflate, gzip']) {
			const response = await get(coding);
			expect([await response.text(), response.headers.get('content-encoding')]).toEqual(['text', null]);
		}
		const asItIs = await get('gzip', false);
		expect(asItIs.headers.get('content-encoding')).toBe('gzip');
		expect(Buffer.from(await asItIs.arrayBuffer()).equals(packed['gzip']!)).toBe(true);
		const unknown = await get('br');
		expect([await unknown.text(), unknown.headers.get('content-encoding')]).toEqual(['whatever', 'br']);
		expect(seen[0]!.headers['accept-encoding']).toBeUndefined();
	});

	test('failures have a code and the words of the executor', async () => {
		const {http} = await machine();
		const {url} = await rawOrigin(
			answering('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf', socket => socket.end()),
		);
		const cut = await http.fetch(url);
		await expect(cut.text()).rejects.toMatchObject(failing('failed', /^http response stream `http-1` failed: /));
		await expect(http.fetch('http://127.0.0.1:1/')).rejects.toMatchObject(failing('failed', /^http\/request failed: /));
		await expect(http.fetch('ftp://127.0.0.1/')).rejects.toMatchObject(failing('invalid', /only supports http/));
		await expect(http.fetch(url, {body: 'x'})).rejects.toThrow(TypeError);
		await expect(http.fetch('http://127.0.0.1:1/')).rejects.toThrow(TypeError);
	});

	test('a time limit covers the body too', async () => {
		const {http} = await machine();
		const {url} = await origin((_request, response) => void response.write('first'));
		const response = await withTimeEnough(timeoutMs => http.fetch(url, {timeoutMs}).catch(() => undefined));
		await expect(response.text()).rejects.toMatchObject(failing('failed'));
		await expect(http.fetch(url, {timeoutMs: 0})).rejects.toMatchObject(failing('failed'));
	});

	test('a header may take its value from a variable, if the executor lets it', async () => {
		const {http} = await machine();
		const {url} = await origin();
		const variableHeaders = [{name: 'authorization', value: 'Bearer ', valueEnvVar: 'OPENAI_API_KEY'}];
		// A server that sends no variable at all says so before it is asked.
		const texts = /cannot use executor environment variable OPENAI_API_KEY|does not support httpHeaderEnvVars/;
		await expect(http.fetch(url, {variableHeaders})).rejects.toThrow(texts);
	});

	test('an aborted request fails with the reason and leaves the origin alone', async ({skip}) => {
		const {http, isLongarm} = await machine();
		const controller = new AbortController();
		const {url, seen, sockets} = await origin((request, response) => {
			if (request.url === '/body') response.write('first');
		});
		const early = http.fetch(url, {signal: AbortSignal.abort(new Error('before'))});
		await expect(early).rejects.toThrow('before');
		const inBody = new AbortController();
		const response = await http.fetch(`${url}/body`, {signal: inBody.signal});
		const reader = response.body!.getReader();
		await reader.read();
		inBody.abort(new Error('in the body'));
		await expect(reader.read()).rejects.toThrow('in the body');
		await (await http.fetch(`${url}/body`)).body!.cancel();
		const waiting = http.fetch(url, {signal: controller.signal});
		await eventually(() => seen.length === 3);
		controller.abort(new Error('while waiting'));
		await expect(waiting).rejects.toThrow('while waiting');
		if (!isLongarm) skip('the server cannot give up a request');
		await eventually(() => sockets.every(socket => socket.destroyed));
	});

	test('when the link breaks bodies fail behind what has arrived, and so does all else', async ({skip}) => {
		const {http, cut} = await machine();
		if (!cut) skip('there is no link');
		const {url} = await origin((_request, response) => void response.write('first'));
		const reader = (await http.fetch(url)).body!.getReader();
		expect(await nextOf(reader)).toBe('first');
		cut!();
		const lost = /exec-server transport disconnected/;
		await expect(reader.read()).rejects.toMatchObject(failing('disconnected', lost));
		await expect(http.fetch(url)).rejects.toMatchObject(failing('disconnected', lost));
	});
});
