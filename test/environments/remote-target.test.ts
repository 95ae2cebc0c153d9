import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {type RemoteTarget, readTarget} from '../../src/environments/remote/remote-target.js';
import {listenOnUnixSocket} from '../../src/transports/node/unix-listener.js';
import {PROGRAM} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer, serving} from '../helpers/serving.js';
import {closeWithTest} from '../helpers/transports.js';

const hello = async (address: string): Promise<string> => {
	const machine = closeWithTest(Environment.remote('there', address));
	return (await machine.run(['/bin/echo', 'hello'])).stdout.text;
};

const refused = (target: unknown) => () => Environment.remote('x', target as RemoteTarget);

test('a machine is named by the address of its server', async () => {
	const {url} = await serving();
	expect(await hello(url)).toBe('hello\n');
	const path = join(scratchDirectory(), 'x.sock');
	const server = execServer();
	const listener = await listenOnUnixSocket({path, accept: transport => void server.accept(transport)});
	onTestFinished(() => listener.close());
	expect(await hello(`unix:${path}`)).toBe('hello\n');
	expect(await hello(`cmd:${process.execPath} ${PROGRAM} serve --listen stdio`)).toBe('hello\n');
});

test('settings go with an address, and those it does not know are refused', () => {
	expect(readTarget('wss://host:1/', {token: 't', connectTimeoutMs: '5s', recovers: false})).toMatchObject({
		kind: 'websocket',
		url: 'wss://host:1/',
		token: 't',
		connectTimeoutMs: 5000,
		recovers: false,
	});
	expect(() => readTarget('unix:/x', {pingIntervalMs: 5})).toThrow(
		'unknown option `pingIntervalMs` of Environment.remote()',
	);
	const target = {kind: 'websocket', url: 'ws://host:1'} as const;
	expect(() => readTarget(target, {token: 't'})).toThrow('they are members of the target');
});

test('a target that cannot be meant is refused at once', () => {
	expect(refused(undefined)).toThrow('needs a name and the address of a server, such as ws://HOST:PORT');
	expect(refused('http://host')).toThrow('must use ws://');
	expect(refused({kind: 'ws', url: 'ws://x'})).toThrow('unknown kind `ws`');
	expect(refused({kind: 'websocket', url: 'ws://x', tokn: 't'})).toThrow('did you mean `token`?');
	expect(refused({kind: 'websocket', url: 'ws://x', initializeTimeoutMs: 'soon'})).toThrow('`initializeTimeoutMs`');
	expect(refused({kind: 'transport', connect: 'ws://x'})).toThrow('option `connect`');
});

test('a connection that is not to be recovered fails what was under way, and a later use opens a new session', async () => {
	const {url, ends} = await serving();
	const machine = closeWithTest(Environment.remote('there', url, {recovers: false}));
	const process = await machine.start(['/bin/sleep', '1000']);
	const before = await machine.sessionId();
	for (const end of ends) end.rpc.destroy();
	await expect(process.exited).rejects.toThrow('exec-server transport disconnected');
	expect(await machine.sessionId()).not.toBe(before);
	expect((await machine.run(['/bin/echo', 'again'])).stdout.text).toBe('again\n');
});
