// covers: src/client/session/session-client.ts, src/client/session/connection.ts (servers of earlier protocols)
import {expect, onTestFinished, test} from 'vitest';
import {RemoteFiles} from '../../src/client/files/remote/remote-files.js';
import {createSandboxPolicy} from '../../src/client/run/sandbox-policy.js';
import {MAX_PENDING_CALLS} from '../../src/client/session/connection.js';
import {SessionClient, type SessionClientOptions} from '../../src/client/session/session-client.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {RawPeer} from '../helpers/raw-peer.js';
import {execServer} from '../helpers/serving.js';
import {sh} from '../helpers/start-params.js';

interface Asked {
	readonly id: number;
	readonly method: string;
	readonly params: Record<string, unknown>;
}

/** A server of the test's own: answers by method, with an unknown method for everything else. */
async function clientOf(
	answers: Record<string, unknown>,
	options: SessionClientOptions = {},
): Promise<{client: SessionClient; peer: RawPeer; asked: Asked[]}> {
	const [near, far] = memoryTransportPair();
	const peer = new RawPeer(far);
	const asked: Asked[] = [];
	void answerAll(peer, answers, request => asked.push(request));
	const client = await SessionClient.open(async () => near, {recovers: false, ...options});
	onTestFinished(() => client.close());
	return {client, peer, asked};
}

/** Until the connection ends; a method whose answer is undefined gets none. */
async function answerAll(
	peer: RawPeer,
	answers: Record<string, unknown>,
	onAsked: (request: Asked) => void,
): Promise<void> {
	for (;;) {
		const request = await peer.next<Partial<Asked>>().catch(() => undefined);
		if (!request) return;
		if (request.id === undefined) continue;
		onAsked(request as Asked);
		const {id, method} = request as Asked;
		if (!Object.hasOwn(answers, method)) {
			peer.send({id, error: {code: -32601, message: `unknown method ${method}`}});
		} else if (answers[method] !== undefined) peer.send({id, result: answers[method]});
	}
}

const INFO = {shell: {name: 'sh', path: '/bin/sh'}};

test('a server that describes itself in its greeting is not asked again', async () => {
	const {client, asked} = await clientOf({initialize: {sessionId: 's', environmentInfo: INFO}});
	expect([client.dialect, client.info, asked.map(({method}) => method)]).toEqual(['current', INFO, ['initialize']]);
});

test('a server that has a description but does not greet with it is asked for it', async () => {
	const capabilities = {environmentConfigRead: true};
	const answers = {initialize: {sessionId: 's'}, 'environment/info': {...INFO, capabilities}};
	const {client, asked} = await clientOf(answers);
	expect(asked.map(({method}) => method)).toEqual(['initialize']);
	expect(await client.describe()).toEqual({dialect: 'current', info: {...INFO, capabilities}, capabilities});
	expect([client.dialect, client.capabilities]).toEqual(['current', capabilities]);
	await client.describe();
	expect(asked.map(({method}) => method)).toEqual(['initialize', 'environment/info']);
});

test('a session with a server that leaves the question for its description unanswered is open at once', async () => {
	const {client, asked} = await clientOf({initialize: {sessionId: 's'}, 'environment/info': undefined});
	expect([client.state, client.info, asked.map(({method}) => method)]).toEqual([
		'connected',
		undefined,
		['initialize'],
	]);
});

test('a server that never answers the question is taken for an old one when the time of the handshake is over', async () => {
	const answers = {initialize: {sessionId: 's'}, 'environment/info': undefined, 'process/start': {processId: 'p'}};
	const {client, asked} = await clientOf(answers, {initializeTimeoutMs: 50});
	await client.start({...sh('p', 'true'), cwd: 'file:///srv/my%20app'}, {backpressure: true});
	expect(asked.map(({method}) => method)).toEqual(['initialize', 'environment/info', 'process/start']);
	expect([client.dialect, asked.at(-1)!.params['cwd']]).toEqual(['v1', '/srv/my app']);
});

test('calls behind the question keep their order, and one that is refused asks it once only', async () => {
	const {client, asked} = await clientOf({initialize: {sessionId: 's'}, 'process/list': {processes: []}});
	await Promise.all([
		client.call('process/list', {}),
		client.call('process/signal', {processId: 'p', signal: 'interrupt'}).catch(() => {}),
		client.describe(),
	]);
	expect(asked.map(({method}) => method)).toEqual(['initialize', 'environment/info', 'process/list', 'process/signal']);
});

test('an old server is not asked again when its session is resumed', async () => {
	const peers: RawPeer[] = [];
	const asked: string[] = [];
	const client = await SessionClient.open(async () => {
		const [near, far] = memoryTransportPair();
		const peer = new RawPeer(far);
		peers.push(peer);
		void answerAll(peer, {initialize: {sessionId: 's'}, 'process/list': {processes: []}}, ({method}) =>
			asked.push(method),
		);
		return near;
	});
	onTestFinished(() => client.close());
	await client.call('process/list', {});
	peers[0]!.transport.destroy();
	await client.call('process/list', {}).catch(() => {});
	await client.recovered();
	await client.call('process/list', {});
	expect([peers.length, asked.filter(method => method === 'environment/info').length]).toEqual([2, 1]);
});

test('a server without a description gets plain paths', async () => {
	const {client, asked} = await clientOf({initialize: {sessionId: 's'}, 'process/start': {processId: 'p'}});
	const {sandboxType} = await client.start({...sh('p', 'true'), cwd: 'file:///srv/my%20app'});
	expect([client.dialect, sandboxType, asked.at(-1)!.params['cwd']]).toEqual(['v1', undefined, '/srv/my app']);
	const files = new RemoteFiles(async () => client);
	await files.writeFile('/srv/a "b"', 'content').catch(() => {});
	expect(asked.at(-1)).toMatchObject({
		method: 'fs/writeFile',
		params: {path: '/srv/a "b"', dataBase64: btoa('content')},
	});
	await files.copy('file:///srv/a', '/srv/b').catch(() => {});
	expect(asked.at(-1)!.params).toMatchObject({sourcePath: '/srv/a', destinationPath: '/srv/b'});
});

test('a server without sessions is used as long as the connection lasts', async () => {
	const {client, peer} = await clientOf({initialize: {}, 'process/start': {processId: 'p'}});
	const {process} = await client.start(sh('p', 'true'));
	expect([client.dialect, client.sessionId]).toEqual(['interim', undefined]);
	peer.transport.destroy();
	await expect(process.closed).rejects.toThrow('exec-server transport disconnected');
});

test('a lost session without a name cannot be resumed, and that is what is said', async () => {
	const [near, far] = memoryTransportPair();
	const peer = new RawPeer(far);
	const opening = SessionClient.open(async () => near);
	await peer.next();
	peer.send({id: 1, result: {}});
	const client = await opening;
	peer.transport.destroy();
	expect((await client.ended).message).toBe(
		'exec-server transport disconnected; failed to resume exec-server session: missing session id',
	);
});

test('processes run on a server of the first protocol, with numbers of our own', async () => {
	const server = execServer({protocol: 'v0'});
	const [near, far] = memoryTransportPair();
	server.accept(far);
	const client = await SessionClient.open(async () => near, {recovers: false});
	onTestFinished(() => client.close());
	expect(client.dialect).toBe('v0');
	const {process} = await client.start(sh('p', 'stty -echo; read x; echo got $x; exit 4', {tty: true}));
	expect(await process.write('it\n')).toEqual({status: 'accepted'});
	expect(await process.exited).toMatchObject({exitCode: 4});
	await process.closed;
	const seen = [];
	let text = '';
	for await (const event of process.events()) {
		seen.push('seq' in event ? event.seq : undefined);
		if (event.kind === 'output') text += Buffer.from(event.bytes).toString();
	}
	expect(text).toContain('got it\r\n');
	expect(seen).toEqual(seen.map((_, index) => index + 1));
	const {process: other} = await client.start(sh('q', 'sleep 1000'));
	await expect(other.write('x')).rejects.toMatchObject({code: 'STDIN_CLOSED'});
	expect(await other.terminate()).toEqual({running: true});
	await other.closed;
	await expect(other.signal('interrupt')).rejects.toThrow('the first protocol, which has no process/signal');
	const sandbox = createSandboxPolicy('read-only', {cwd: '/'});
	await expect(client.start({...sh('r', 'true'), sandbox})).rejects.toThrow('cannot be enforced on this executor');
});

test('a write that a server of the first protocol fails is a failure, not a process that is gone', async () => {
	const {client} = await clientOf({initialize: {protocolVersion: 'v0'}, 'command/exec': {sessionId: 's'}});
	const {process} = await client.start(sh('p', 'cat', {tty: true}));
	await expect(process.write('x')).rejects.toThrow('unknown method command/exec/write');
});

test('calls without an answer are bounded, one clean-up gets through, and another hangs up', async () => {
	const answers = {
		initialize: {sessionId: 's', environmentInfo: INFO},
		'process/wait': undefined,
		'fs/close': undefined,
	};
	const {client} = await clientOf(answers);
	const waiting = Array.from({length: MAX_PENDING_CALLS}, () => client.call('process/wait', {processId: 'p'}));
	const settled = Promise.allSettled(waiting);
	await Promise.resolve();
	const full = 'exec-server has reached its limit of 1024 pending requests';
	await expect(client.call('process/wait', {processId: 'p'})).rejects.toThrow(full);
	expect(client.state).toBe('connected');
	const cleanUp = client.call('fs/close', {handleId: 'h'}).catch((error: Error) => error.message);
	await expect(client.call('fs/close', {handleId: 'i'})).rejects.toThrow(full);
	expect(await cleanUp).toBe('exec-server transport disconnected');
	expect((await settled).every(({status}) => status === 'rejected')).toBe(true);
	expect(client.state).toBe('failed');
});
