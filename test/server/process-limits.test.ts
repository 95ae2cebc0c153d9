import {spawnSync} from 'node:child_process';
import {expect, test} from 'vitest';
import {Command} from '../helpers/command.js';
import {GatedBackend} from '../helpers/gated-backend.js';
import {joined, OPEN_STDIN, refusal, served} from '../helpers/process-api.js';
import {eventually} from '../helpers/processes.js';
import type {TestClient} from '../helpers/test-client.js';

const hint = 'End some, or raise max-processes or max-processes-per-session.';

function full(owner: string, limit: number): unknown {
	return {
		code: -32603,
		message: `${owner} runs ${limit} processes already, which is its limit`,
		data: {code: 'PROCESS_LIMIT', context: {limit, running: limit}, hint},
	};
}

function cat(client: TestClient, processId: string): Promise<unknown> {
	return refusal(client.start(processId, ['/bin/cat'], OPEN_STDIN));
}

async function end(client: TestClient, processId: string): Promise<void> {
	await client.call('process/closeStdin', {processId});
	await client.event(processId, 'process/exited');
}

const started = (processId: string): unknown => ({accepted: {processId, sandboxType: 'none'}});

test('a session that has its processes gets no more, others do, and an exit makes room', async () => {
	const {url, client} = await served({maxProcessesPerSession: 2});
	const other = await joined(url);
	expect([await cat(client, 'a'), await cat(client, 'b')]).toEqual([started('a'), started('b')]);
	expect(await cat(client, 'c')).toEqual(full('this session', 2));
	expect(await cat(other, 'c')).toEqual(started('c'));
	await end(client, 'a');
	expect(await cat(client, 'c')).toEqual(started('c'));
	expect(await cat(client, 'd')).toEqual(full('this session', 2));
});

test('a server that has its processes starts no more for anybody, in any version of the protocol', async () => {
	const {url, client} = await served({maxProcesses: 2});
	const other = await joined(url);
	const v0 = (): Promise<unknown> =>
		refusal(other.call('command/exec', {argv: ['/bin/cat'], cwd: '/tmp', env: {}, tty: true}));
	expect([await cat(client, 'a'), await v0()]).toEqual([started('a'), {accepted: {sessionId: 'session-1'}}]);
	expect(await cat(client, 'b')).toEqual(full('this server', 2));
	expect(await v0()).toEqual(full('this server', 2));
	await other.call('command/exec/terminate', {sessionId: 'session-1'});
	await other.until(() => other.events.some(({method}) => method === 'command/exec/exited'));
	expect(await cat(client, 'b')).toEqual(started('b'));
});

test('processes that are being started count, and those that could not be started or were cancelled do not', async () => {
	const backend = new GatedBackend();
	const {client} = await served({maxProcessesPerSession: 1, backend: () => backend});
	const first = refusal(client.start('first', ['/no/such/program']));
	await eventually(() => backend.waiting === 1);
	expect(await cat(client, 'second')).toEqual(full('this session', 1));
	backend.open();
	expect(await first).toMatchObject({code: -32603, message: 'No such file or directory (os error 2)'});
	const cancelled = cat(client, 'cancelled');
	await eventually(() => backend.waiting === 1);
	expect(await client.call('process/terminate', {processId: 'cancelled'})).toEqual({running: true});
	expect(await cancelled).toMatchObject({code: -32600});
	backend.open();
	const third = cat(client, 'third');
	await eventually(() => backend.waiting === 1);
	backend.open();
	expect(await third).toEqual(started('third'));
});

test('the processes of a session that is over make room', async () => {
	const {server, url, client} = await served({maxProcesses: 1, detachedSessionMs: 0});
	expect(await cat(client, 'a')).toEqual(started('a'));
	const other = await joined(url);
	expect(await cat(other, 'b')).toEqual(full('this server', 1));
	client.rpc.destroy();
	await eventually(() => server.health()['processes'] === 0);
	expect(await cat(other, 'b')).toEqual(started('b'));
});

interface Asked {
	readonly prepared?: boolean | null;
}

const COMMANDS: [string, (client: TestClient, asked: Asked) => Promise<unknown>][] = [
	['process/start', (client, asked) => client.start('p', ['/bin/true'], {...asked})],
	['command/exec', client => client.call('command/exec', {argv: ['/bin/true'], cwd: '/tmp', env: {}, tty: false})],
];

test.each(COMMANDS)('a server without direct exec starts no command of %s that nobody prepared', async (_, start) => {
	const {client} = await served({allowDirectExec: false});
	for (const asked of [{}, {prepared: false}, {prepared: null}]) {
		expect(await refusal(start(client, asked))).toEqual({
			code: -32600,
			message: 'this server does not start direct commands',
			data: {
				code: 'EXEC_REFUSED',
				context: {kind: 'direct', allowDirectExec: false, allowPreparedExec: true},
				hint: 'See allow-direct-exec and allow-prepared-exec.',
			},
		});
	}
	await client.start('prepared', ['/bin/echo', 'started'], {prepared: true});
	expect((await client.done('prepared')).stdout).toBe('started\n');
});

test('a server without prepared exec starts only commands that do not claim to be prepared', async () => {
	const {client} = await served({allowPreparedExec: false});
	expect(await refusal(client.start('p', ['/bin/true'], {prepared: true}))).toEqual({
		code: -32600,
		message: 'this server does not start prepared commands',
		data: {
			code: 'EXEC_REFUSED',
			context: {kind: 'prepared', allowDirectExec: true, allowPreparedExec: false},
			hint: 'See allow-direct-exec and allow-prepared-exec.',
		},
	});
	await client.start('p', ['/bin/echo', 'started']);
	expect((await client.done('p')).stdout).toBe('started\n');
});

test('a machine that has run out of descriptors is named as such, and the same start succeeds later', async () => {
	const command = new Command(['serve']);
	const client = await joined(await command.url());
	await client.start('first', ['/bin/true']);
	await client.event('first', 'process/closed');
	const limit = (count: number): void => {
		const {status} = spawnSync('prlimit', ['--pid', String(command.pid), `--nofile=${count}:`]);
		expect(status).toBe(0);
	};
	limit(3);
	expect(await refusal(client.start('p', ['/bin/echo', 'started']))).toEqual({
		code: -32603,
		message: 'Too many open files (os error 24)',
		data: {
			code: 'RESOURCES_EXHAUSTED',
			context: {program: '/bin/echo', error: 'EMFILE'},
			hint: 'End something, or raise the limit (ulimit -n, ulimit -u); the same request may succeed later.',
		},
	});
	limit(1024);
	await client.start('p', ['/bin/echo', 'started']);
	expect((await client.done('p')).stdout).toBe('started\n');
});
