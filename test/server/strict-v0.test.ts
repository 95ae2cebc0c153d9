import {expect, test} from 'vitest';
import {Command} from '../helpers/command.js';
import {isAlive, untilDead} from '../helpers/processes.js';
import type {RawPeer} from '../helpers/raw-peer.js';
import {rawPeer, serving} from '../helpers/serving.js';

const INITIALIZE = {id: 1, method: 'initialize', params: {clientName: 'old'}};

/** A raw connection to a server that speaks nothing but the first protocol. */
async function stranger(): Promise<RawPeer> {
	const {url} = await serving({protocol: 'v0'});
	return rawPeer(url);
}

async function greeted(): Promise<RawPeer> {
	const peer = await stranger();
	await peer.ask(INITIALIZE);
	peer.send({method: 'initialized', params: {}});
	return peer;
}

function exec(id: number, script: string, tty = false): unknown {
	const env = {PATH: process.env['PATH']};
	return {id, method: 'command/exec', params: {argv: ['/bin/sh', '-c', script], cwd: '/tmp', env, tty}};
}

test('the handshake is that of the first protocol, to the letter', async () => {
	const peer = await stranger();
	peer.send(INITIALIZE);
	expect(await peer.nextText()).toBe('{"id":1,"result":{"protocolVersion":"exec-server.v0"}}');
	expect(await peer.ask({...INITIALIZE, id: 2})).toEqual({
		id: 2,
		error: {code: -32600, message: 'initialize may only be sent once per connection'},
	});
	expect(await peer.ask(exec(3, 'true'))).toEqual({
		id: 3,
		error: {code: -32600, message: 'client must send initialized before using exec methods'},
	});
});

test('a session is one process, from its start to its end in the words of the specification', async () => {
	const peer = await greeted();
	expect(await peer.ask(exec(2, 'stty -echo; printf ready; read line; printf "%s" "$line"; exit 7', true))).toEqual({
		id: 2,
		result: {sessionId: 'session-1'},
	});
	expect(await peer.next()).toEqual({
		method: 'command/exec/outputDelta',
		params: {sessionId: 'session-1', stream: 'stdout', chunk: 'cmVhZHk='},
	});
	peer.send({id: 3, method: 'command/exec/write', params: {sessionId: 'session-1', chunk: 'aGVsbG8K'}});
	await peer.until(() => peer.received.some(({method}) => method === 'command/exec/exited'), 'the exit');
	await peer.until(() => peer.received.length === 6, 'the last output');
	expect(peer.received.slice(3)).toEqual(
		expect.arrayContaining([
			{id: 3, result: {accepted: true}},
			{
				method: 'command/exec/outputDelta',
				params: {sessionId: 'session-1', stream: 'stdout', chunk: 'aGVsbG8='},
			},
			{method: 'command/exec/exited', params: {sessionId: 'session-1', exitCode: 7}},
		]),
	);
});

test.each(['process/start', 'process/read', 'environment/info', 'fs/readFile', 'nonsense', 'constructor'])(
	'%s is no method of the first protocol',
	async method => {
		const peer = await greeted();
		const params = {processId: 'p', argv: ['true'], cwd: '/tmp', env: {}, tty: false, path: '/tmp'};
		expect(await peer.ask({id: 2, method, params})).toEqual({
			id: 2,
			error: {code: -32600, message: `unknown method: ${method}`},
		});
	},
);

test.each([
	['an empty argv', {argv: [], cwd: '/tmp', env: {}, tty: false}, {code: -32602, message: 'argv must not be empty'}],
	['params of another method', {sessionId: 'x'}, {code: -32602, message: 'missing field `argv`'}],
])('%s is invalid', async (_, params, error) => {
	const peer = await greeted();
	expect(await peer.ask({id: 2, method: 'command/exec', params})).toEqual({id: 2, error});
});

test.each([
	['what is not JSON', 'nonsense'],
	['JSON that is no message', '[]'],
	['a request without a method', '{"id":4}'],
	['a notification nobody knows', '{"method":"process/outputDelta","params":{}}'],
	['a reply to nothing', '{"id":99,"result":{}}'],
])('%s closes the connection, and ends what it started', async (_, text) => {
	const peer = await greeted();
	await peer.ask(exec(2, 'echo $$; exec sleep 1000'));
	const {params} = await peer.next<{params: {chunk: string}}>();
	const pid = Number(Buffer.from(params.chunk, 'base64').toString());
	expect(isAlive(pid)).toBe(true);
	const before = peer.texts.length;
	peer.send(text);
	await peer.untilClosed();
	expect(peer.texts.slice(before)).toEqual([]);
	await untilDead(pid);
});

test('initialized before initialize closes the connection', async () => {
	const peer = await stranger();
	peer.send({method: 'initialized', params: {}});
	await peer.untilClosed();
	expect(peer.texts).toEqual([]);
});

test('the command in this mode says where it listens on stderr, and nothing on stdout', async () => {
	const command = new Command(['serve', '--protocol', 'v0', '--listen', 'ws://127.0.0.1:0', '--log-level', 'silent']);
	await command.until(() => command.stderr.includes('\n'), 'the address');
	const [, url] = /^codex-exec-server listening on (ws:\/\/127\.0\.0\.1:\d+)\n$/.exec(command.stderr)!;
	const peer = await rawPeer(url!);
	expect(await peer.ask(INITIALIZE)).toEqual({id: 1, result: {protocolVersion: 'exec-server.v0'}});
	expect(command.stdout).toBe('');
});

test('the command in this mode serves its own input and output unless told otherwise, and ends with them', async () => {
	const command = new Command(['serve', '--protocol', 'v0']);
	const {stdin} = command.child;
	stdin.write(`${JSON.stringify(INITIALIZE)}\n{"method":"initialized"}\n`);
	stdin.write(`${JSON.stringify(exec(2, 'echo $$; exec sleep 1000'))}\n`);
	await command.until(() => command.stdout.split('\n').length > 3, 'output');
	const [greeting, started, delta] = command.stdout
		.split('\n')
		.map(line => (line ? (JSON.parse(line) as unknown) : null));
	expect([greeting, started]).toEqual([
		{id: 1, result: {protocolVersion: 'exec-server.v0'}},
		{id: 2, result: {sessionId: 'session-1'}},
	]);
	const pid = Number(Buffer.from((delta as {params: {chunk: string}}).params.chunk, 'base64').toString());
	expect(isAlive(pid)).toBe(true);
	stdin.end();
	expect(await command.ended).toEqual({code: 0, signal: null});
	await untilDead(pid);
});
