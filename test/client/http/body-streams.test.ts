import {expect, test} from 'vitest';
import {MAX_BODY_DELTA_BYTES, MAX_QUEUED_BYTES, MAX_QUEUED_DELTAS} from '../../../src/client/http/body-streams.js';
import {HttpError} from '../../../src/client/http/http-error.js';
import {MAX_BODY_BYTES} from '../../../src/client/http/outgoing-request.js';
import {RemoteHttp} from '../../../src/client/http/remote-http.js';
import {base64} from '../../helpers/files.js';
import {FakeServer} from '../fake-server.js';

async function greeted(capabilities: Record<string, boolean> = {}) {
	const server = await FakeServer.greet(capabilities);
	const http = new RemoteHttp(async () => server.client);
	/** A response whose head is there, and how to send its body. */
	const responding = async () => {
		const fetching = http.fetch('http://origin/');
		const {params} = await server.answer('http/request', {status: 200, headers: [], bodyBase64: ''});
		const requestId = params['requestId'] as string;
		const send = (seq: number, data: string | Uint8Array, rest: object = {}) =>
			server.notify('http/request/bodyDelta', {requestId, seq, deltaBase64: base64(data), ...rest});
		return {response: await fetching, requestId, send};
	};
	/** Settles when the client has heard everything that was sent before. */
	const heard = async () => {
		const call = server.client.call('environment/status', {});
		let asked = await server.peer.next();
		while (asked['method'] !== 'environment/status') asked = await server.peer.next();
		server.peer.send({id: asked['id'], result: {status: 'ready'}});
		await call;
		// The next turn of the loop.
		await new Promise(resolve => setImmediate(() => setTimeout(resolve)));
	};
	return {server, http, responding, heard};
}

const reading = async (response: Response) => {
	const chunks: string[] = [];
	try {
		for await (const chunk of response.body!) chunks.push(Buffer.from(chunk).toString());
		return {chunks};
	} catch (error) {
		return {chunks, error: error as HttpError};
	}
};

test('requests have ids of their own, however many objects make them, and ask for a stream', async () => {
	const {server, http} = await greeted();
	const other = new RemoteHttp(async () => server.client);
	for (const each of [http, other, http]) void each.fetch('http://origin/', {redirect: 'manual'}).catch(() => {});
	const asked = [
		await server.asked('http/request'),
		await server.asked('http/request'),
		await server.asked('http/request'),
	];
	expect(asked.map(({params}) => params['requestId'])).toEqual(['http-1', 'http-2', 'http-3']);
	expect(asked[0]!.params).toEqual({
		method: 'GET',
		url: 'http://origin/',
		headers: [],
		redirectPolicy: 'stop',
		requestId: 'http-1',
		streamResponse: true,
	});
});

test('a body may overtake its head, and a last piece may hold data', async () => {
	const {server, http} = await greeted();
	const fetching = http.fetch('http://origin/');
	const {id} = await server.asked('http/request');
	server.notify('http/request/bodyDelta', {requestId: 'http-1', seq: 1, deltaBase64: base64('one ')});
	server.notify('http/request/bodyDelta', {requestId: 'http-1', seq: 2, deltaBase64: base64('two'), done: true});
	server.peer.send({id, result: {status: 200, headers: [], bodyBase64: ''}});
	expect(await (await fetching).text()).toBe('one two');
});

test('an answer that is not one of HTTP is a failure of its own kind', async () => {
	const {server, http} = await greeted();
	const fetching = http.fetch('http://origin/');
	await server.answer('http/request', {status: 'fine', headers: []});
	await expect(fetching).rejects.toMatchObject({name: 'HttpError', code: 'invalid-data'});
});

test('a piece out of its turn breaks the body behind what came before', async () => {
	const {responding} = await greeted();
	const {response, send} = await responding();
	send(1, 'one');
	send(3, 'three');
	expect(await reading(response)).toMatchObject({
		chunks: ['one'],
		error: {code: 'invalid-data', message: 'http response stream `http-1` received seq 3, expected 2'},
	});
});

test('an error of the server breaks the body, and what is for nobody is ignored', async () => {
	const {server, responding} = await greeted();
	const {response, send} = await responding();
	server.notify('http/request/bodyDelta', {requestId: 'http-9', seq: 7, deltaBase64: base64('x')});
	send(1, 'one');
	send(2, '', {done: true, error: 'connection reset'});
	expect(await reading(response)).toMatchObject({
		chunks: ['one'],
		error: {code: 'failed', message: 'http response stream `http-1` failed: connection reset'},
	});
});

test('a body that nobody reads is broken behind as many pieces as may wait, and others are not', async () => {
	const {responding, heard} = await greeted();
	const {response, send} = await responding();
	const other = await responding();
	for (let seq = 1; seq <= MAX_QUEUED_DELTAS + 1; seq++) send(seq, 'x');
	other.send(1, 'fine', {done: true});
	await heard();
	const {chunks, error} = await reading(response);
	expect([chunks.length, error?.code, error?.message]).toEqual([
		MAX_QUEUED_DELTAS,
		'overrun',
		'http response stream `http-1` failed: body delta channel filled before delivery',
	]);
	expect(await other.response.text()).toBe('fine');
});

test('all bodies together may hold so much, and reading makes room again', async () => {
	const {responding, heard} = await greeted();
	const first = await responding();
	const second = await responding();
	const piece = new Uint8Array(MAX_BODY_DELTA_BYTES);
	for (let seq = 1; seq <= MAX_QUEUED_BYTES / MAX_BODY_DELTA_BYTES; seq++) first.send(seq, piece);
	second.send(1, 'x');
	await heard();
	expect(await reading(second.response)).toMatchObject({
		chunks: [],
		error: {code: 'overrun', message: 'http response stream `http-2` failed: queued body deltas exceed 16777216 bytes'},
	});
	const reader = first.response.body!.getReader();
	await reader.read();
	const third = await responding();
	third.send(1, 'x', {done: true});
	expect(await third.response.text()).toBe('x');
	await reader.cancel();
});

test('a piece that is too large ends the connection, whoever it is for', async () => {
	const {server, responding} = await greeted();
	const {response, send} = await responding();
	send(1, 'one');
	server.notify('http/request/bodyDelta', {
		requestId: 'nobody',
		seq: 1,
		deltaBase64: base64(new Uint8Array(MAX_BODY_DELTA_BYTES + 1)),
	});
	const lost =
		'exec-server transport disconnected: exec-server notification handling failed: http response body delta exceeds 1048576 bytes';
	expect((await server.client.ended).message).toBe(lost);
	expect(await reading(response)).toMatchObject({
		chunks: ['one'],
		error: {code: 'disconnected', message: `http response stream \`http-1\` failed: ${lost}`},
	});
});

test.each([
	{what: 'is cancelled', httpCancel: true, cancelled: ['http-1', 'http-2']},
	{what: 'is only forgotten by a server that cannot cancel', httpCancel: false, cancelled: []},
])('a request that is given up $what', async ({httpCancel, cancelled}) => {
	const {server, http, responding, heard} = await greeted({httpCancel});
	const {response, send} = await responding();
	await response.body!.cancel();
	send(1, 'late');
	const controller = new AbortController();
	const fetching = http.fetch('http://origin/', {signal: controller.signal});
	await server.peer.until(() => server.peer.texts.at(-1)!.includes('"http-2"'), 'the request');
	controller.abort(new Error('enough'));
	await expect(fetching).rejects.toThrow('enough');
	await heard();
	const asked = server.peer.received.filter(({method}) => method === 'http/cancel');
	expect(asked.map(({params}) => params)).toEqual(cancelled.map(requestId => ({requestId})));
});

test('nothing is cancelled that has come to its end', async () => {
	const {server, responding, heard} = await greeted({httpCancel: true});
	const {response, send} = await responding();
	send(1, 'all of it', {done: true});
	await heard();
	await response.body!.cancel();
	await heard();
	expect(server.peer.received.filter(({method}) => method === 'http/cancel')).toEqual([]);
});

test('a body that does not fit a message is refused before anything is sent', async () => {
	const {server, http} = await greeted();
	const body = new Uint8Array(MAX_BODY_BYTES + 1);
	await expect(http.fetch('http://origin/', {method: 'POST', body})).rejects.toMatchObject({code: 'invalid'});
	expect(server.peer.texts.length).toBe(2);
});

test('a server that would send a variable header without its variable is not asked to', async () => {
	const {server, http} = await greeted();
	const variableHeaders = [{name: 'authorization', value: 'Bearer ', valueEnvVar: 'TOKEN'}];
	await expect(http.fetch('http://origin/', {variableHeaders})).rejects.toMatchObject({code: 'unsupported'});
	expect(server.peer.texts.length).toBe(2);
});

test('a status that no response can have is invalid data', async () => {
	const {server, http} = await greeted();
	const fetching = http.fetch('http://origin/');
	fetching.catch(() => {});
	await server.answer('http/request', {status: 42, headers: [], bodyBase64: ''});
	await expect(fetching).rejects.toMatchObject({constructor: HttpError, code: 'invalid-data'});
});
