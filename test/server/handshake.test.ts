import {expect, test} from 'vitest';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {outcomeOf} from '../helpers/process-api.js';
import {RawPeer} from '../helpers/raw-peer.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';
import {waitTicks} from '../helpers/ticks.js';

const START = {processId: 'p', argv: ['/bin/true'], cwd: 'file:///', env: {}, tty: false};

function peerOf(server = execServer()): RawPeer {
	const [near, far] = memoryTransportPair();
	server.accept(far);
	return new RawPeer(near);
}

test('initialize answers with a session id and what the machine is', async () => {
	const peer = peerOf();
	const {id, result} = await peer.ask({id: 1, method: 'initialize', params: {clientName: ''}});
	expect(id).toBe(1);
	expect(result).toEqual({
		sessionId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as string,
		protocolVersion: 'exec-server.v0',
		environmentInfo: expect.objectContaining({
			platformOs: process.platform === 'darwin' ? 'macos' : process.platform,
		}) as object,
	});
});

const FAMILIES: [string, unknown, string][] = [
	['process/start', START, 'exec'],
	['process/read', {processId: 'p'}, 'exec'],
	['process/write', {processId: 'p', chunk: '', writeId: '1'}, 'exec'],
	['process/signal', {processId: 'p', signal: 'interrupt'}, 'exec'],
	['process/terminate', {processId: 'p'}, 'exec'],
	['environment/info', null, 'environment info'],
	['environment/status', {}, 'environment status'],
	['environmentConfig/read', {cwd: 'file:///', configPaths: [['a']], requirementsPaths: []}, 'environment config'],
	['fs/readFile', {path: 'file:///etc/hostname'}, 'filesystem'],
];

test.each(FAMILIES)('%s is refused before initialize and before initialized', async (method, params, family) => {
	const client = TestClient.overMemory(execServer());
	expect(await outcomeOf(client.call(method, params))).toEqual({
		code: -32600,
		message: `client must call initialize before using ${family} methods`,
	});
	await client.call('initialize', {clientName: 'c'});
	expect(await outcomeOf(client.call(method, params))).toEqual({
		code: -32600,
		message: `client must send initialized before using ${family} methods`,
	});
});

test.each([
	['process/start', {}, 'missing field `processId`'],
	['process/read', {processId: 'p', waitMs: -1}, 'invalid number, expected an unsigned integer at `waitMs`'],
	['environment/info', 7, 'invalid type, expected no params'],
])('bad params of %s are reported even before the handshake', async (method, params, message) => {
	const client = TestClient.overMemory(execServer());
	expect(await outcomeOf(client.call(method, params))).toEqual({code: -32602, message});
});

test('an unknown method is -32601, whatever the state of the handshake', async () => {
	const unknown = {code: -32601, message: 'exec-server stub does not implement `no/such` yet'};
	const client = TestClient.overMemory(execServer());
	expect(await outcomeOf(client.call('no/such', {}))).toEqual(unknown);
	await client.initialize();
	expect(await outcomeOf(client.call('no/such', {}))).toEqual(unknown);
	expect(await outcomeOf(client.call('initialized', {}))).toMatchObject({code: -32601});
});

test('initialize works once per connection', async () => {
	const client = await TestClient.overMemory(execServer()).initialize();
	const once = {code: -32600, message: 'initialize may only be sent once per connection'};
	expect(await outcomeOf(client.call('initialize', {clientName: 'again'}))).toEqual(once);
	expect(await outcomeOf(client.call('initialize', {clientName: 'c', resumeSessionId: client.sessionId}))).toEqual(
		once,
	);
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
});

test('an initialize that failed may be repeated', async () => {
	const client = TestClient.overMemory(execServer());
	expect(await outcomeOf(client.call('initialize', {}))).toEqual({code: -32602, message: 'missing field `clientName`'});
	for (const resumeSessionId of ['no such session', '']) {
		expect(await outcomeOf(client.call('initialize', {clientName: 'c', resumeSessionId}))).toEqual({
			code: -32600,
			message: `unknown session id ${resumeSessionId}`,
		});
	}
	await client.initialize();
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
});

test('null in place of a session id asks for a new session', async () => {
	const server = execServer();
	const ids = await Promise.all(
		[null, undefined].map(async resumeSessionId => {
			const result = await TestClient.overMemory(server).call('initialize', {clientName: 'c', resumeSessionId});
			return result['sessionId'];
		}),
	);
	expect(new Set(ids).size).toBe(2);
});

test('the handshake may be pipelined with what follows it', async () => {
	const peer = peerOf();
	peer.send({id: 1, method: 'environment/status'});
	peer.send({id: 2, method: 'initialize', params: ['by position']});
	peer.send({id: 3, method: 'environment/status'});
	peer.send({method: 'initialized'});
	peer.send({id: 4, method: 'environment/status'});
	const replies = [await peer.next(), await peer.next(), await peer.next(), await peer.next()];
	expect(replies.map(({id, error}) => [id, (error as {code: number} | undefined)?.code])).toEqual([
		[1, -32600],
		[2, undefined],
		[3, -32600],
		[4, undefined],
	]);
});

test('initialized is taken with any params and any number of times', async () => {
	const peer = peerOf();
	await peer.ask({id: 1, method: 'initialize', params: {clientName: 'c'}});
	for (const params of [undefined, null, [], {a: 1}, 'x']) peer.send({method: 'initialized', params});
	expect(await peer.ask({id: 2, method: 'environment/status'})).toEqual({id: 2, result: {status: 'ready'}});
});

test.each([
	['initialized before initialize', {method: 'initialized', params: {}}],
	['initialize as a notification', {method: 'initialize', params: {clientName: 'c'}}],
	['a notification nobody knows', {method: 'no/such'}],
	['a notification that only servers send', {method: 'process/output', params: {}}],
	['a reply nobody asked for', {id: 1, result: {}}],
	['an error nobody asked for', {id: -1, error: {code: 1, message: 'x'}}],
])('the server hangs up on %s without a word', async (_, message) => {
	const peer = peerOf();
	peer.send(message);
	await peer.untilClosed();
	expect(peer.texts).toEqual([]);
});

test('malformed messages are answered at any time and change nothing', async () => {
	const peer = peerOf();
	const malformed = {id: -1, error: {code: -32600, message: expect.stringContaining('JSON-RPC object') as string}};
	expect(await peer.ask('[]')).toEqual(malformed);
	await peer.ask({id: 1, method: 'initialize', params: {clientName: 'c'}});
	expect(await peer.ask('7')).toEqual(malformed);
	peer.send({method: 'initialized'});
	expect(await peer.ask({id: 2, method: 'environment/status'})).toEqual({id: 2, result: {status: 'ready'}});
	await waitTicks();
	expect(peer.ending).toBeUndefined();
});
