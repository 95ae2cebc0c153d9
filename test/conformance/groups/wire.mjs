// One JSON-RPC message per WebSocket message; what is malformed is answered with id -1 and survived.
import {once} from 'node:events';
import {equal, isError, ok} from '../lib/check.mjs';
import {letTimePass, run, sh} from '../lib/proc.mjs';
import {group} from '../lib/suite.mjs';
import {DEADLINE_MS} from '../lib/time.mjs';

/** The cheapest request there is, as text, and its answer. */
const harmless = id => JSON.stringify({id, method: 'process/terminate', params: {processId: 'none'}});
const answer = {running: false};

async function stillWorks(peer) {
	equal(await peer.call('process/terminate', {processId: 'none'}), answer, 'next reply');
}

/** Sends a raw frame that must be answered with id -1, on a connection that goes on working. */
async function rejected(t, frame) {
	const peer = await t.open();
	peer.socket.send(frame);
	isError((await peer.find(m => m.id === -1, undefined, 'an error with id -1')).error, -32600);
	await stillWorks(peer);
	return peer;
}

/** Pings the server; resolves to the payload of the pong. */
async function pong({socket}, payload) {
	const answered = once(socket, 'pong', {signal: AbortSignal.timeout(DEADLINE_MS)});
	socket.ping(payload);
	const [data] = await answered;
	return data.toString();
}

export const tests = group('wire', ({core, current}) => {
	core('messages from the server carry no jsonrpc member', async t => {
		const peer = await t.open();
		await run(peer, sh('echo x'));
		ok(
			peer.inbox.every(m => !('jsonrpc' in m)),
			'no message with a jsonrpc member',
		);
	});

	core('a request with "jsonrpc":"2.0" is accepted', async t => {
		const peer = await t.open();
		peer.send({jsonrpc: '2.0', id: 'v2', method: 'process/terminate', params: {processId: 'none'}});
		equal((await peer.reply('v2')).result, answer, 'result');
	});

	core('string ids are echoed as strings', async t => {
		const peer = await t.open();
		peer.socket.send(harmless('a "quoted" id'));
		equal((await peer.reply('a "quoted" id')).result, answer, 'result');
	});

	core('zero and negative ids are echoed', async t => {
		const peer = await t.open();
		for (const id of [0, -7]) {
			peer.socket.send(harmless(id));
			equal((await peer.reply(id)).result, answer, `result of ${id}`);
		}
	});

	core('text that is not JSON is answered with id -1', async t => {
		await rejected(t, 'not-json');
	});

	core('a batch is answered with id -1 and not executed', async t => {
		const peer = await rejected(t, `[${harmless('b1')},${harmless('b2')}]`);
		ok(!peer.inbox.some(m => m.id === 'b1' || m.id === 'b2'), 'no reply to a batched request');
	});

	core('JSON that is no object is answered with id -1', async t => {
		await rejected(t, '42');
	});

	core('an empty object is answered with id -1', async t => {
		await rejected(t, '{}');
	});

	core('a method that is no string is answered with id -1', async t => {
		await rejected(t, '{"id":1,"method":7}');
	});

	core('a null id is answered with id -1', async t => {
		await rejected(t, '{"id":null,"method":"process/terminate","params":{"processId":"none"}}');
	});

	core('malformed text before the handshake is survived', async t => {
		const peer = await t.raw();
		peer.socket.send('not-json');
		isError((await peer.find(m => m.id === -1)).error, -32600);
		await peer.initialize();
		equal((await run(peer, sh('exit 2'))).exitCode, 2, 'exit code');
	});

	core('a binary message holding JSON is accepted', async t => {
		const peer = await t.open();
		peer.socket.send(Buffer.from(harmless('bin')));
		equal((await peer.reply('bin')).result, answer, 'result');
	});

	core('a fragmented message is put together', async t => {
		const peer = await t.open();
		const text = harmless('frag');
		peer.socket.send(text.slice(0, 9), {fin: false});
		peer.socket.send(text.slice(9), {fin: true});
		equal((await peer.reply('frag')).result, answer, 'result');
	});

	core('white space around a message is ignored', async t => {
		const peer = await t.open();
		peer.socket.send(` \r\n\t${harmless('ws')} \n`);
		equal((await peer.reply('ws')).result, answer, 'result');
	});

	core('params of the wrong type are invalid params', async t => {
		const peer = await t.open();
		isError(await peer.fail('process/read', 'text'), -32602);
		isError(await peer.fail('process/read', 5), -32602);
		isError(await peer.fail('process/read', {processId: 5}), -32602);
	});

	core('missing params are invalid params', async t => {
		const peer = await t.open();
		isError(await peer.fail('process/read'), -32602);
		isError(await peer.fail('process/terminate', null), -32602);
	});

	core('pipelined requests are all answered', async t => {
		const peer = await t.open();
		const ids = Array.from({length: 100}, () => peer.post('process/terminate', {processId: 'none'}));
		for (const id of ids) equal((await peer.reply(id)).result, answer, `reply ${id}`);
	});

	core('two requests with the same id are both answered', async t => {
		const peer = await t.open();
		peer.socket.send(harmless('twin'));
		peer.socket.send(harmless('twin'));
		await peer.until(() => peer.inbox.filter(m => m.id === 'twin').length === 2, 'two replies');
	});

	core('a ping is answered with a pong', async t => {
		equal(await pong(await t.raw(), 'still there?'), 'still there?', 'pong');
	});

	core('a fractional, boolean or object id is answered with id -1', async t => {
		for (const id of [1.5, true, {}]) await rejected(t, harmless(id));
	});

	core('the largest safe integer and an empty string work as ids', async t => {
		const peer = await t.open();
		for (const id of [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, '']) {
			peer.socket.send(harmless(id));
			equal((await peer.reply(id)).result, answer, `result of ${id}`);
		}
	});

	core('deeply nested JSON does no harm', async t => {
		const peer = await t.open();
		peer.socket.send(`{"id":"deep","method":"process/read","params":${'['.repeat(5000)}${']'.repeat(5000)}}`);
		const {error} = await peer.find(m => m.id === -1 || m.id === 'deep', undefined, 'an error');
		ok(
			error?.code === -32600 || error?.code === -32602,
			`an invalid request or invalid params error, got ${error?.code}`,
		);
		await stillWorks(peer);
	});

	core('a message of 15 MiB is accepted', {solo: true}, async t => {
		const peer = await t.open();
		const filler = 'x'.repeat(15 * 1024 * 1024);
		equal(await peer.call('process/terminate', {processId: 'none', filler}), answer, 'result');
	});

	core('many malformed messages in a row are all survived', async t => {
		const peer = await t.open();
		for (let i = 0; i < 200; i++) peer.socket.send(`{"broken": ${i}`);
		await peer.until(() => peer.inbox.filter(m => m.id === -1).length === 200, '200 errors');
		await stillWorks(peer);
	});

	core('pongs and pings with payload are ignored', async t => {
		const peer = await t.open();
		peer.socket.pong('unasked');
		peer.socket.ping(Buffer.alloc(125));
		await stillWorks(peer);
	});

	current('an idle connection is pinged within 35 seconds', {slow: true}, async t => {
		const idle = await t.raw();
		let isPinged = false;
		idle.socket.on('ping', () => {
			isPinged = true;
		});
		await letTimePass(t, 35_000);
		// A ping that is on its way arrives before this pong.
		await pong(idle, 'fence');
		ok(isPinged, 'a ping');
	});

	current('a trace context and unknown top-level members are accepted', async t => {
		const peer = await t.open();
		const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
		peer.send({id: 'traced', method: 'process/terminate', params: {processId: 'none'}, trace: {traceparent}, extra: 1});
		equal((await peer.reply('traced')).result, answer, 'result');
	});
});
