import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {transfer} from '../../src/client/files/copy/transfer.js';
import {Environment} from '../../src/environments/environment.js';
import type {RemoteTarget} from '../../src/environments/remote/remote-target.js';
import {PROGRAM} from '../helpers/command.js';
import {Cuttable} from '../helpers/cuttable.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {serving} from '../helpers/serving.js';
import {ENVIRONMENTS} from '../helpers/transports.js';

describe.each(Object.entries(ENVIRONMENTS))('%s', (_name, machine) => {
	test('describes itself and is ready once it was used', async () => {
		const environment = await machine();
		expect((await environment.info()).shell.path).toMatch(/^\//);
		expect(await environment.status()).toEqual({kind: 'ready'});
	});

	test('runs commands, has files and a network', async () => {
		const environment = await machine();
		const path = join(scratchDirectory(), 'note');
		await environment.files.writeFile(path, 'written there\n');
		expect((await environment.run(['/bin/cat', path])).stdout.text).toBe('written there\n');
		const origin = createServer((_request, response) => response.end('from the origin'));
		await new Promise<void>(resolve => {
			origin.listen(0, '127.0.0.1', resolve);
		});
		onTestFinished(() => void origin.close());
		const {fetch} = environment;
		const response = await fetch(`http://127.0.0.1:${(origin.address() as AddressInfo).port}/`);
		expect([response.status, await response.text()]).toEqual([200, 'from the origin']);
	});

	test('says when a port is open', async () => {
		const environment = await machine();
		const script = 'require("net").createServer().listen(0,"127.0.0.1",function(){console.log(this.address().port)})';
		const process = await environment.start([globalThis.process.execPath, '-e', script]);
		const {match} = await environment.waitFor(process, {pattern: /^(\d+)\n/});
		const port = Number(match[1]);
		expect(await environment.waitFor(process, {port})).toEqual({by: 'port', port});
		await process.terminate();
	});

	test('takes files from another', async () => {
		const [environment, here] = [await machine(), await ENVIRONMENTS['this machine']!()];
		const [from, to] = [join(scratchDirectory(), 'from'), join(scratchDirectory(), 'to')];
		await here.files.writeFile(from, 'x'.repeat(100_000));
		await transfer({from: {files: here.files, path: from}, to: {files: environment.files, path: to}});
		expect(readFileSync(to, 'utf8')).toBe('x'.repeat(100_000));
	});
});

test('closing this machine ends what its commands left running', async () => {
	const environment = Environment.local();
	const {stdout} = await environment.run(['/bin/sh', '-c', 'sleep 1000 >/dev/null 2>&1 & echo $!']);
	const pid = Number(stdout.text);
	const process = await environment.start(['/bin/sleep', '1000']);
	expect(isAlive(pid)).toBe(true);
	await environment.close();
	expect(process.isOver).toBe(true);
	expect(await eventually(() => !isAlive(pid))).toBe(true);
	await expect(environment.run(['true'])).rejects.toThrow('the environment is closed');
});

test('a machine that is not there yet is waited for, and one that will never be says why', async () => {
	const {url} = await serving();
	let arrive!: (target: RemoteTarget) => void;
	const target = new Promise<RemoteTarget>(resolve => {
		arrive = resolve;
	});
	const environment = Environment.remote('later', {kind: 'provisioned', target});
	onTestFinished(() => environment.close());
	const running = environment.run(['/bin/echo', 'here']);
	expect(await environment.status()).toEqual({kind: 'pending'});
	arrive({kind: 'websocket', url});
	expect((await running).stdout.text).toBe('here\n');
	const never = Environment.remote('never', {kind: 'provisioned', target: Promise.reject(new Error('no quota'))});
	await expect(never.run(['true'])).rejects.toThrow('environment unavailable: no quota');
});

test('a machine that cannot be provisioned is no failure of a program that has not used it yet', async () => {
	const unhandled = vi.fn<(reason: unknown) => void>();
	process.on('unhandledRejection', unhandled);
	onTestFinished(() => void process.off('unhandledRejection', unhandled));
	const never = Environment.remote('never', {
		kind: 'provisioned',
		target: new Promise<RemoteTarget>((_resolve, reject) => setImmediate(reject, new Error('no quota'))),
	});
	onTestFinished(() => never.close());
	// Node reports an unhandled rejection after the turn in which it happens.
	for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve));
	expect(unhandled).not.toHaveBeenCalled();
	await expect(never.run(['true'])).rejects.toThrow('environment unavailable: no quota');
});

test('more commands than a connection has room for wait for each other', async () => {
	const {url} = await serving();
	const environment = Environment.remote('many', url);
	onTestFinished(() => environment.close());
	const started = await Promise.all(Array.from({length: 1100}, () => environment.start(['/bin/true'])));
	const exits = await Promise.all(started.map(({exited}) => exited));
	expect(exits.every(({exitCode}) => exitCode === 0)).toBe(true);
});

test('a machine behind a command is started at first use and ends with its environment', async () => {
	const target = {kind: 'command', program: process.execPath, args: [PROGRAM, 'serve', '--listen', 'stdio']} as const;
	const environment = Environment.remote('behind', target);
	expect(await environment.status()).toEqual({kind: 'pending'});
	const {stdout} = await environment.run(['/bin/sh', '-c', 'echo $PPID']);
	expect(isAlive(Number(stdout.text))).toBe(true);
	await environment.close();
	expect(await eventually(() => !isAlive(Number(stdout.text)))).toBe(true);
});

test('closing during the handshake of a command that says nothing gives up and ends what it started', async () => {
	const pids: number[] = [];
	const script = `echo $$ >&2; setsid sh -c 'echo $$ >&2; exec sleep 1000' & sleep 1000 & echo $! >&2; wait`;
	const target: RemoteTarget = {
		kind: 'command',
		program: '/bin/sh',
		args: ['-c', script],
		onStderr: text => pids.push(...text.trim().split('\n').map(Number)),
		initializeTimeoutMs: 600_000,
	};
	const environment = Environment.remote('silent', target);
	const asked = environment.info().catch((error: Error) => error.message);
	await eventually(() => pids.length === 3);
	await environment.close();
	expect(await asked).toBe('the environment is closed');
	await untilDead(...pids);
});

test('a machine whose link is silent is closed long before the silence counts as a lost link', async () => {
	const {url} = await serving();
	const line = await Cuttable.to(url);
	const environment = Environment.remote('remote', line.url);
	await environment.run(['true']);
	line.isSilent = true;
	const began = performance.now();
	await environment.close();
	expect(performance.now() - began).toBeLessThan(20_000);
});
