import {once} from 'node:events';
import type {ServerResponse} from 'node:http';
import type {Socket} from 'node:net';
import {expect, test, vi} from 'vitest';
import {MAX_REQUESTS_IN_FLIGHT} from '../../src/network/http/http-requests.js';
import {OUTPUT_HIGH_WATER_BYTES} from '../../src/server/connection/flow-control.js';
import {stopClock} from '../helpers/clock.js';
import {disconnect} from '../helpers/disconnect.js';
import {refusal} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import {join, rawPeer, serving} from '../helpers/serving.js';
import {waitTicks} from '../helpers/ticks.js';
import {bytesOf, failed, HttpClient, httpClient, invalid} from '../network/http-client.js';
import {answering, origin, rawOrigin} from '../network/origin.js';

const MiB = 1024 * 1024;
const ENDLESS = Buffer.alloc(64 * 1024, 'x');

/** An origin that answers the head at once and leaves the rest to the test. */
async function heldOrigin(): Promise<{url: string; responses: ServerResponse[]; sockets: Socket[]}> {
	const responses: ServerResponse[] = [];
	const {url, sockets} = await origin((_, response) => {
		response.writeHead(200).flushHeaders();
		responses.push(response);
	});
	return {url, responses, sockets};
}

/** Never stops writing as long as somebody reads. */
function flood(response: ServerResponse): void {
	while (!response.destroyed && response.write(ENDLESS));
	if (!response.destroyed) response.once('drain', () => flood(response));
}

const piece = (seq: number, text: string) => ({
	requestId: 's',
	seq,
	deltaBase64: Buffer.from(text).toString('base64'),
	done: text === '',
	error: null,
});

test('a body arrives piece by piece behind the reply, numbered, and its end by itself', async () => {
	const {url, responses} = await heldOrigin();
	const http = await httpClient();
	expect(await http.stream(url, 's')).toMatchObject({status: 200, bodyBase64: ''});
	await waitTicks();
	expect(http.deltas('s')).toEqual([]);
	for (const [index, text] of ['one', 'two', 'three'].entries()) {
		responses[0]!.write(text);
		await http.client.until(() => http.deltas('s').length === index + 1);
	}
	responses[0]!.end();
	expect(await http.allDeltas('s')).toEqual([piece(1, 'one'), piece(2, 'two'), piece(3, 'three'), piece(4, '')]);
});

test('the reply is sent before the first delta, however fast the body', async () => {
	const {url} = await origin();
	const peer = await rawPeer((await serving({variables: {}})).url);
	await peer.ask({id: 1, method: 'initialize', params: {clientName: 'test'}});
	peer.send({method: 'initialized', params: {}});
	for (let id = 2; id < 50; id++) {
		const params = {method: 'GET', url, requestId: 's', streamResponse: true};
		expect(await peer.ask({id, method: 'http/request', params})).toMatchObject({id, result: {status: 200}});
		expect(await peer.next()).toMatchObject({params: {seq: 1, done: false}});
		expect(await peer.next()).toMatchObject({params: {seq: 2, done: true}});
	}
});

test('an empty body is a single end', async () => {
	const {url} = await origin((_, response) => response.writeHead(204).end());
	const http = await httpClient();
	await http.stream(url, 's');
	expect(await http.allDeltas('s')).toEqual([{requestId: 's', seq: 1, deltaBase64: '', done: true, error: null}]);
});

test('a large body arrives whole, in pieces of at most 1 MiB, several at once', async () => {
	const content = Buffer.from(Uint32Array.from({length: 4 * MiB}, (_, index) => index).buffer);
	const {url} = await origin((_, response) => response.end(content));
	const {client} = await join(await serving({variables: {}}));
	const http = new HttpClient(client);
	const ids = ['a', 'b', 'c'];
	await Promise.all(ids.map(id => http.stream(url, id)));
	for (const id of ids) {
		const deltas = await http.allDeltas(id);
		expect(bytesOf(deltas).equals(content)).toBe(true);
		expect(deltas.map(({seq}) => seq)).toEqual(deltas.map((_, index) => index + 1));
		for (const {deltaBase64} of deltas) expect(deltaBase64.length).toBeLessThanOrEqual((MiB / 3) * 4);
	}
});

test.each([
	['breaks off', 'content-length: 100\r\n\r\npart', 'part', 'the connection was closed early'],
	[
		'is framed wrongly',
		'transfer-encoding: chunked\r\n\r\n4\r\npart\r\nnonsense\r\n',
		'part',
		'Parse Error: Invalid character in chunk size',
	],
])('a body that %s ends with what came before and an error', async (_, rest, text, error) => {
	const {url} = await rawOrigin(answering(`HTTP/1.1 200 OK\r\n${rest}`, socket => socket.end()));
	const http = await httpClient();
	await http.stream(url, 's');
	const {bytes, error: told} = await http.body('s');
	expect([bytes.toString(), told]).toEqual([text, error]);
	expect(await http.refusal(url)).toEqual(failed(`failed to read http/request response body: ${error}`));
});

test('a connection that is reset in the middle of a body is an error', async () => {
	const {url, responses, sockets} = await heldOrigin();
	const http = await httpClient();
	await http.stream(url, 's');
	responses[0]!.write('part');
	await http.client.until(() => http.deltas('s').length === 1);
	sockets[0]!.resetAndDestroy();
	expect((await http.body('s')).error).toBe('read ECONNRESET');
});

test('the time limit covers the body', async () => {
	const {url, responses, sockets} = await heldOrigin();
	const http = await httpClient();
	stopClock();
	await http.stream(url, 's', {timeoutMs: 50});
	vi.advanceTimersByTime(50);
	expect(await http.allDeltas('s')).toEqual([
		{requestId: 's', seq: 1, deltaBase64: '', done: true, error: 'request timed out'},
	]);
	await eventually(() => sockets[0]!.destroyed);
	const refused = http.refusal(url, {timeoutMs: 50});
	await eventually(() => responses.length === 2);
	// Its head is there when that of a later one is.
	await http.stream(url, 'later');
	await waitTicks();
	vi.advanceTimersByTime(50);
	expect(await refused).toEqual(failed('failed to read http/request response body: request timed out'));
});

test('the id of a stream is taken until its end, for streams only', async () => {
	const {url, responses} = await heldOrigin();
	const {url: other} = await origin();
	const http = await httpClient();
	await http.stream(url, 's');
	const taken = invalid('http/request streamResponse requestId `s` is already active');
	expect(await refusal(http.stream(other, 's'))).toEqual(taken);
	// What is wrong with the request itself is told first.
	expect(await refusal(http.stream('ftp://x', 's'))).not.toEqual(taken);
	expect(await http.text(other, {requestId: 's'})).toBe('ok');
	responses[0]!.end();
	await http.allDeltas('s');
	http.client.events.length = 0;
	await http.stream(other, 's');
	expect((await http.body('s')).bytes.toString()).toBe('ok');
});

test('the id of a stream that failed before its response is free again', async () => {
	const {url} = await origin();
	const http = await httpClient();
	await refusal(http.stream('http://127.0.0.1:1', 's'));
	await refusal(http.stream(url, 's', {timeoutMs: 0}));
	await http.stream(url, 's');
	expect((await http.body('s')).error).toBe(null);
});

test('a client that does not read holds up the origin, nobody else, and ends it by going', async () => {
	let sent = 0;
	const {url, sockets} = await origin((_, response) => {
		flood(response);
		sent = 1;
	});
	const {url: quick} = await origin();
	const host = await serving({variables: {}});
	const [reader, slow] = [await join(host), await join(host)];
	slow.socket.pause();
	new HttpClient(slow.client).stream(url, 's').catch(() => {});
	await eventually(() => sent === 1 && slow.end.rpc.backlog >= OUTPUT_HIGH_WATER_BYTES);
	const written = (): number => sockets[0]!.bytesWritten;
	// Whole requests of others give the flood all the time it needs to go on, if it can.
	for (let still = 0, before = -1; still < 20; before = written()) {
		expect(await new HttpClient(reader.client).text(quick)).toBe('ok');
		still = written() === before ? still + 1 : 0;
	}
	expect(slow.end.rpc.backlog).toBeLessThan(4 * OUTPUT_HIGH_WATER_BYTES);
	expect(written()).toBeLessThan(64 * MiB);
	const closed = new Promise(resolve => sockets[0]!.on('close', resolve));
	await disconnect(slow);
	await closed;
});

test('a client that goes on reading gets all of it', async () => {
	const content = Buffer.alloc(24 * MiB, 'abcdefg');
	const {url} = await origin((_, response) => response.end(content));
	const {client, end, socket} = await join(await serving({variables: {}}));
	const http = new HttpClient(client);
	await http.stream(url, 's');
	socket.pause();
	await eventually(() => end.rpc.backlog >= OUTPUT_HIGH_WATER_BYTES);
	socket.resume();
	expect((await http.body('s')).bytes.equals(content)).toBe(true);
});

test('cancelling ends every request of the id, each in its way, and no other', async () => {
	const {url, responses, sockets} = await heldOrigin();
	const {url: silent, sockets: waiting} = await rawOrigin(socket => socket.resume());
	const http = await httpClient();
	await http.stream(url, 'x');
	await http.stream(url, 'y');
	const buffered = [http.refusal(url, {requestId: 'x'}), http.refusal(silent, {requestId: 'x'})];
	await eventually(() => responses.length === 3 && waiting.length === 1);
	expect(await http.client.call('http/cancel', {requestId: 'unknown'})).toEqual({});
	expect(await http.client.call('http/cancel', {requestId: 'x'})).toEqual({});
	expect(await http.body('x')).toEqual({bytes: Buffer.alloc(0), error: 'cancelled'});
	expect(await Promise.all(buffered)).toEqual(Array(2).fill(failed('http/request failed: cancelled')));
	await eventually(() =>
		[sockets[0], sockets[2], waiting[0]].every(socket => socket!.destroyed || socket!.readableEnded),
	);
	responses[1]!.end('still here');
	expect((await http.body('y')).bytes.toString()).toBe('still here');
});

test('a client that goes gives up what it asked for, whatever state it is in', async () => {
	const {url, responses, sockets} = await heldOrigin();
	const {url: silent, sockets: waiting} = await rawOrigin(socket => socket.resume());
	const joined = await join(await serving({variables: {}}));
	const http = new HttpClient(joined.client);
	await http.stream(url, 's');
	for (const call of [http.request(url), http.request(silent)]) call.catch(() => {});
	await eventually(() => responses.length === 2 && waiting.length === 1);
	const closed = [...sockets, ...waiting].map(socket => once(socket, socket === waiting[0] ? 'end' : 'close'));
	await disconnect(joined);
	expect(await Promise.all(closed)).toHaveLength(3);
});

test('one more request than may be under way is refused, and only that one', async () => {
	const {url, responses} = await heldOrigin();
	const http = await httpClient();
	const texts = Array.from({length: MAX_REQUESTS_IN_FLIGHT}, () => http.text(url));
	expect(await http.refusal(url)).toEqual(
		failed(`http/request failed: more than ${MAX_REQUESTS_IN_FLIGHT} requests of this connection are under way`),
	);
	await eventually(() => responses.length === MAX_REQUESTS_IN_FLIGHT);
	for (const response of responses.splice(0)) response.end('done');
	expect(new Set(await Promise.all(texts))).toEqual(new Set(['done']));
	const again = http.text(url);
	await eventually(() => responses.length === 1);
	responses[0]!.end('again');
	expect(await again).toBe('again');
});
