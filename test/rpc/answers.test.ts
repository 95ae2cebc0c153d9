// covers: src/rpc/rpc-connection.ts (requests of the peer)
import {expect, test} from 'vitest';
import {RpcError} from '../../src/protocol/wire/error-codes.js';
import {MAX_MESSAGE_BYTES} from '../../src/protocol/wire/message-limits.js';
import {MAX_UNREAD_REPLY_BYTES} from '../../src/rpc/rpc-connection.js';
import {waitTicks} from '../helpers/ticks.js';
import {linked} from './linked.js';

test('concurrent requests are answered as they finish', async () => {
	const finish = new Map<unknown, (value: unknown) => void>();
	const {peer} = linked('server', {
		request: ({params}) => new Promise(resolve => finish.set(params, resolve)),
	});
	for (const name of ['a', 'b', 'c']) peer.send({id: name, method: 'm', params: name});
	await waitTicks();
	expect([...finish.keys()]).toEqual(['a', 'b', 'c']);
	for (const name of ['c', 'a', 'b']) {
		finish.get(name)!(`${name} done`);
		expect(await peer.next()).toEqual({id: name, result: `${name} done`});
	}
});

test('a request answered at once overtakes one that takes its time', async () => {
	const {peer} = linked('server', {
		request: ({method}) => (method === 'slow' ? new Promise(resolve => setImmediate(resolve, 'slow')) : 'quick'),
	});
	peer.send({id: 1, method: 'slow'});
	peer.send({id: 2, method: 'quick'});
	expect([await peer.next(), await peer.next()]).toEqual([
		{id: 2, result: 'quick'},
		{id: 1, result: 'slow'},
	]);
});

test('an id that is used twice is answered twice', async () => {
	const {peer} = linked('server', {request: ({params}) => params});
	peer.send({id: 5, method: 'm', params: 'first'});
	peer.send({id: 5, method: 'm', params: 'second'});
	expect([await peer.next(), await peer.next()]).toEqual([
		{id: 5, result: 'first'},
		{id: 5, result: 'second'},
	]);
});

test.each(['""', '"id"', '"\\u20ac\\n"', '0', '-7', '9007199254740993', '-9223372036854775808', '9223372036854775807'])(
	'the id %s comes back as it was sent',
	async id => {
		const {peer} = linked('server', {request: () => null});
		peer.send(`{"id":${id},"method":"m"}`);
		expect(await peer.nextText()).toBe(
			`{"id":${id.startsWith('"') ? JSON.stringify(JSON.parse(id)) : id},"result":null}`,
		);
	},
);

test.each([
	['rejected', () => Promise.reject(new RpcError(-32004, 'not there', {path: 'x'}))],
	[
		'thrown',
		() => {
			throw new RpcError(-32004, 'not there', {path: 'x'});
		},
	],
])('an RpcError that is %s becomes the error reply and is no failure', async (_, request) => {
	const failures: unknown[] = [];
	const {peer} = linked('server', {request, failed: error => failures.push(error)});
	expect(await peer.ask({id: 1, method: 'm'})).toEqual({
		id: 1,
		error: {code: -32004, message: 'not there', data: {path: 'x'}},
	});
	expect(failures).toEqual([]);
});

test.each([
	[
		'throws',
		() => {
			throw new TypeError('secret detail');
		},
		new TypeError('secret detail'),
	],
	['rejects', () => Promise.reject(new TypeError('secret detail')), new TypeError('secret detail')],
	['rejects with a string', () => Promise.reject('secret detail'), 'secret detail'],
])('a handler that %s answers `internal error` and is reported', async (_, request, expected) => {
	const failures: unknown[] = [];
	const {peer} = linked('server', {request, failed: (error, method) => failures.push([method, error])});
	expect(await peer.ask({id: 1, method: 'process/start'})).toEqual({
		id: 1,
		error: {code: -32603, message: 'internal error'},
	});
	expect(failures).toEqual([['process/start', expected]]);
});

test('a result that JSON cannot carry answers `internal error` and is reported', async () => {
	const failures: unknown[] = [];
	const {peer} = linked('server', {request: () => ({size: 1n}), failed: (_, method) => failures.push(method)});
	expect(await peer.ask({id: 1, method: 'm'})).toEqual({id: 1, error: {code: -32603, message: 'internal error'}});
	expect(failures).toEqual(['m']);
});

test('a handler that returns nothing answers null', async () => {
	const {peer} = linked('server', {request: () => undefined});
	expect(await peer.ask({id: 1, method: 'm'})).toEqual({id: 1, result: null});
});

const ENVELOPE_BYTES = '{"id":1,"result":""}'.length;

test('a result of exactly the message limit is sent', async () => {
	const length = MAX_MESSAGE_BYTES - ENVELOPE_BYTES;
	const {peer} = linked('server', {request: () => 'x'.repeat(length)});
	peer.send({id: 1, method: 'm'});
	expect((await peer.nextText()).length).toBe(MAX_MESSAGE_BYTES);
});

test.each([
	['one byte', () => 'x'.repeat(MAX_MESSAGE_BYTES - ENVELOPE_BYTES + 1)],
	['characters of several bytes', () => '€'.repeat(MAX_MESSAGE_BYTES / 3)],
])('a result above the message limit by %s becomes an error reply', async (_, result) => {
	const {peer} = linked('server', {request: result});
	expect(await peer.ask({id: 1, method: 'fs/readFile'})).toEqual({
		id: 1,
		error: {
			code: -32603,
			message: `the result of fs/readFile exceeds the message limit of ${MAX_MESSAGE_BYTES} bytes`,
		},
	});
});

test('a peer that leaves its replies unread is not read from until it has taken them', async () => {
	const quarter = 'x'.repeat(MAX_UNREAD_REPLY_BYTES / 4);
	let handled = 0;
	const {peer} = linked('server', {
		request: () => {
			handled++;
			return quarter;
		},
	});
	peer.transport.pause();
	for (let id = 1; id <= 10; id++) {
		peer.send({id, method: 'm'});
		await waitTicks(2);
	}
	expect(handled).toBe(4);
	peer.transport.resume();
	for (let id = 1; id <= 10; id++) {
		expect((await peer.next())['id']).toBe(id);
	}
	expect(handled).toBe(10);
});

test('the service learns when sending more makes sense again', async () => {
	let drained = 0;
	const {connection, peer} = linked('server', {drained: () => drained++});
	peer.transport.pause();
	connection.notify('process/output', {chunk: 'x'.repeat(1000)});
	await waitTicks();
	expect([drained > 0, connection.backlog > 1000]).toEqual([false, true]);
	peer.transport.resume();
	await peer.next();
	await waitTicks();
	expect([drained > 0, connection.backlog]).toEqual([true, 0]);
});

test('a notification is handed over with its params and never answered', async () => {
	const seen: unknown[] = [];
	const {peer} = linked('server', {
		notification: notification => {
			seen.push(notification);
			return true;
		},
		request: () => 'reply',
	});
	peer.send({method: 'initialized', params: {a: 1}});
	expect(await peer.ask({id: 1, method: 'm'})).toEqual({id: 1, result: 'reply'});
	expect(seen).toEqual([{kind: 'notification', method: 'initialized', params: {a: 1}}]);
});

test('a server hangs up on a notification it does not understand, without a word', async () => {
	const {connection, peer} = linked('server', {notification: () => false});
	peer.send({method: 'no/such'});
	await peer.untilClosed();
	expect([connection.isClosed, peer.texts]).toEqual([true, []]);
});

test('a client ignores a notification it does not understand', async () => {
	const {connection, peer} = linked('client', {notification: () => false});
	const call = connection.request('m', {});
	peer.send({method: 'no/such'});
	peer.send({id: 1, result: 'fine'});
	expect(await call).toBe('fine');
});
