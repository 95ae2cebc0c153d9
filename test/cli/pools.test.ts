// covers: src/cli/common/pool-choice.ts, src/cli/common/hub-environments.ts, src/cli/commands/serve/serve-remote.ts, src/environments/remote/hub-target.ts, src/environments/many/hub-members.ts, src/server/drain.ts
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Client} from '@modelcontextprotocol/client';
import {StdioClientTransport} from '@modelcontextprotocol/client/stdio';
import {expect, onTestFinished, test, vi} from 'vitest';
import {decodeLoad} from '../../src/protocol/relay/executor-offer.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {callText} from '../helpers/mcp-service.js';
import {poolEnvironment, poolMember} from '../helpers/pool-members.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {fileWith} from '../helpers/tokens.js';

type User = {LONGARM_HOME: string; XDG_STATE_HOME: string};

function newUser(): User {
	return {LONGARM_HOME: scratchDirectory(), XDG_STATE_HOME: scratchDirectory()};
}

/** A user whose configuration has an environment of the hub. */
async function userOf({url, clientToken}: RunningHub, name = 'lab', user = newUser()): Promise<User> {
	const added = await run(
		['env', 'add', name, `registry+${url}/pool:gpu`, '--token-file', fileWith(clientToken), '--executor-key', 'any'],
		user,
	);
	expect(added).toMatchObject({code: 0, stderr: ''});
	return user;
}

/** The built server as a member, when the hub knows its load. */
async function servingMember({hub, url, executorToken}: RunningHub, id: string, ...more: string[]): Promise<Command> {
	const args = ['serve', '--remote', url, '--environment-id', id, '--token-file', fileWith(executorToken)];
	const server = new Command([...args, '--log-format', 'json', ...more], {env: newUser()});
	await server.logs('"online"');
	await eventually(() => hub.relay.findExecutor(id)?.load !== undefined);
	return server;
}

test('serve offers pools, labels and slots, which the lists show and select', async () => {
	const hub = await runningHub();
	const more = ['--pool', 'gpu', '--pool', 'big,fast', '--label', 'zone=a', '--label', 'disk=ssd', '--slots', '3'];
	await servingMember(hub, 'gpu-1', ...more);
	await runningExecutor(hub, 'stock');
	const user = await userOf(hub);
	const offered = {
		id: 'gpu-1',
		pools: ['gpu', 'big', 'fast'],
		labels: {os: 'linux', arch: process.arch, zone: 'a', disk: 'ssd'},
		slots: 3,
		used: 0,
		state: 'open',
	};
	for (const args of [
		['env', 'list', '--hub', 'lab', '--json', '--select', 'pool:big+zone=a'],
		['hub', 'ls', '--json', '--data', hub.data, '--select', '@disk=ssd'],
	]) {
		const {code, stdout} = await run(args, user);
		expect([code, JSON.parse(stdout)]).toMatchObject([0, [offered]]);
	}
	const line = `^gpu-1  online   sha256:[0-9a-f]{64}  for \\S+, 0 clients, 0 of 3 slots  \\[pool:gpu pool:big pool:fast os=linux arch=${process.arch} zone=a disk=ssd\\]$`;
	expect((await run(['env', 'list', '--hub', 'lab'], user)).stdout.split('\n')[0]).toMatch(new RegExp(line));
	const wrong = await run(['env', 'list', '--hub', 'lab', '--select', 'gpu'], user);
	expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--select gpu: expected pool:NAME')]);
});

test.each([
	[['--pool', 'a b'], 'expected up to 16 names'],
	[['--label', 'zone'], 'expected KEY=VALUE'],
	[['--slots', '0'], 'expected a whole number from 1 to 10000'],
])('serve refuses %j', async (args, text) => {
	const {code, stderr} = await run(['serve', '--remote', 'http://127.0.0.1:1', '--environment-id', 'x', ...args]);
	expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
});

test('pools, labels and slots go with a hub only', async () => {
	for (const args of [
		['--pool', 'a'],
		['--label', 'a=b'],
		['--slots', '1'],
	]) {
		const {code, stderr} = await run(['serve', ...args]);
		expect([code, stderr]).toEqual([2, expect.stringContaining(`${args[0]} goes with --remote`)]);
	}
});

test('run takes a pool, labels and the name of the machine it was sent to', async () => {
	const hub = await runningHub();
	await servingMember(hub, 'gpu-1', '--pool', 'gpu', '--label', 'arch=arm64', '--slots', '8');
	const user = await userOf(hub);
	for (const where of ['pool:gpu', 'lab', 'lab/pool:gpu', '@os=linux+arch=arm64', 'lab/@os=linux', 'lab/gpu-1']) {
		expect(await run(['run', '-e', where, '--', 'printf', 'hi'], user)).toMatchObject({
			code: 0,
			stdout: 'hi',
			stderr: '',
		});
	}
	const report = await run(['run', '--json', '-e', 'pool:gpu', '--', 'true'], user);
	expect(JSON.parse(report.stdout)).toMatchObject({exitCode: 0, environment: 'lab/gpu-1'});
	const started = await run(['run', '-d', '-e', 'pool:gpu', '--name', 'nap', '--', 'sleep', '600'], user);
	expect(started).toMatchObject({code: 0, stderr: 'on lab/gpu-1\n'});
	expect((await run(['ps', '-e', 'lab/gpu-1'], user)).stdout).toContain('nap');
	const asJson = await run(['run', '-d', '--json', '-e', 'pool:gpu', '--', 'sleep', '600'], user);
	expect(JSON.parse(asJson.stdout)).toMatchObject({environment: 'lab/gpu-1'});
	const address = `registry+${hub.url}/pool:gpu`;
	const byAddress = await run(['run', '-d', '-e', address, '--', 'sleep', '600'], {
		...user,
		LONGARM_EXEC_SERVER_TOKEN: hub.clientToken,
	});
	expect(byAddress).toMatchObject({code: 0, stderr: `on registry+${hub.url}/gpu-1\n`});
});

test('commands that are about one machine want its name', async () => {
	const hub = await runningHub();
	const user = await userOf(hub);
	for (const command of [['ps'], ['logs', 'x'], ['ls', ':/'], ['stop', 'x']]) {
		const {code, stderr} = await run([...command, '-e', 'pool:gpu'], user);
		expect([command, code, stderr]).toEqual([command, 2, expect.stringContaining('name it, as in NAME/ID')]);
	}
});

test('a full pool fails after a moment, and with --wait when the time is over', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1', {slots: 1});
	const user = await userOf(hub);
	const holder = poolEnvironment(hub, 'pool:gpu');
	await holder.member();
	await eventually(() => hub.hub.relay.findExecutor('gpu-1')?.load?.used === 1);
	for (const wait of [[], ['--wait=0s'], ['--wait=900ms']]) {
		const {code, stderr} = await run(['run', '-e', 'pool:gpu', ...wait, '--', 'true'], user);
		expect([code, stderr]).toEqual([125, expect.stringContaining('every machine of pool:gpu is full')]);
	}
	const waiting = run(['run', '-e', 'pool:gpu', '--wait', '--', 'printf', 'at last'], user);
	await holder.close();
	expect(await waiting).toMatchObject({code: 0, stdout: 'at last'});
	const empty = await run(['run', '-e', 'pool:tpu', '--', 'true'], user);
	expect([empty.code, empty.stderr]).toEqual([125, expect.stringContaining('no machine of pool:tpu is connected')]);
	const wrong = await run(['run', '-e', 'pool:gpu', '--wait', 'make', 'test'], user);
	expect([wrong.code, wrong.stderr]).toEqual([125, expect.stringContaining('--wait make: expected a time')]);
});

/** Most slots that were in use at once, by the accounts of the executors. */
function watchUsed({hub}: RunningHub): () => number {
	let most = 0;
	const {relay} = hub;
	const receiveText = relay.receiveText.bind(relay);
	vi.spyOn(relay, 'receiveText').mockImplementation((executor, text) => {
		most = Math.max(most, decodeLoad(text)!.used);
		receiveText(executor, text);
	});
	return () => most;
}

test('12 of 12 short commands in a row get one of two slots, with and without --detach and --keep', async () => {
	const hub = await runningHub();
	for (const id of ['gpu-1', 'gpu-2']) await servingMember(hub, id, '--pool', 'gpu', '--slots', '1');
	const user = await userOf(hub);
	const mostUsed = watchUsed(hub);
	for (let times = 0; times < 4; times++) {
		for (const how of [[], ['-d'], ['--keep']]) {
			const {code, stderr} = await run(['run', ...how, '-e', 'pool:gpu', '--', 'true'], user);
			expect([code, stderr]).toEqual([0, expect.stringMatching(/^(?:on lab\/gpu-[12]\n)?$/)]);
		}
	}
	await eventually(() => ['gpu-1', 'gpu-2'].every(id => hub.hub.relay.findExecutor(id)!.load!.used === 0));
	expect(mostUsed()).toBe(1);
});

test('a client that was killed leaves its slot to the process it ran, which is free when that has ended', async () => {
	const hub = await runningHub();
	await servingMember(hub, 'gpu-1', '--pool', 'gpu', '--slots', '1');
	const user = await userOf(hub);
	const mostUsed = watchUsed(hub);
	const gate = join(scratchDirectory(), 'gate');
	const script = `echo begun; until [ -e ${gate} ]; do sleep 0.01; done`;
	const killed = new Command(['run', '-e', 'pool:gpu', '--', 'sh', '-c', script], {env: user});
	await killed.until(() => killed.stdout === 'begun\n', 'its first line');
	killed.child.kill('SIGKILL');
	await killed.ended;
	const full = await run(['run', '-e', 'pool:gpu', '--wait=0s', '--', 'true'], user);
	expect([full.code, full.stderr]).toEqual([125, expect.stringContaining('every machine of pool:gpu is full')]);
	writeFileSync(gate, '');
	expect(await run(['run', '-e', 'pool:gpu', '--wait', '--', 'printf', 'hi'], user)).toMatchObject({stdout: 'hi'});
	expect(mostUsed()).toBe(1);
});

test('with several hubs the name of one is wanted, and without any a hub', async () => {
	const [one, other] = [await runningHub(), await runningHub()];
	await poolMember(other, 'gpu-9');
	const user = await userOf(other, 'b', await userOf(one, 'a'));
	const {code, stderr} = await run(['run', '-e', 'pool:gpu', '--', 'true'], user);
	expect([code, stderr]).toEqual([
		125,
		expect.stringContaining('there are several hubs; say a/pool:gpu or b/pool:gpu'),
	]);
	expect(await run(['run', '-e', 'b/pool:gpu', '--', 'printf', 'hi'], user)).toMatchObject({code: 0, stdout: 'hi'});
	const none = await run(['run', '-e', 'pool:gpu', '--', 'true'], newUser());
	expect(none.stderr).toContain('is about a hub, and none is known');
});

test('each and fanout run on every member', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1', {labels: {zone: 'a'}});
	await poolMember(hub, 'gpu-2', {labels: {zone: 'b'}});
	await poolMember(hub, 'cpu-1', {pools: ['cpu'], labels: {zone: 'a'}});
	const user = await userOf(hub);
	const namesOf = async (selector: string): Promise<unknown> => {
		const {code, stdout} = await run(['each', '--json', '-e', selector, '--', 'true'], user);
		expect(code).toBe(0);
		return (JSON.parse(stdout) as {groups: {names: string[]}[]}).groups.flatMap(group => group.names).sort();
	};
	expect(await namesOf('pool:gpu')).toEqual(['lab/gpu-1', 'lab/gpu-2']);
	expect(await namesOf('lab')).toEqual(['lab/gpu-1', 'lab/gpu-2']);
	expect(await namesOf('@zone=a,lab/gpu-2')).toEqual(['lab/cpu-1', 'lab/gpu-1', 'lab/gpu-2']);
	const empty = await run(['each', '-e', 'pool:tpu', '--', 'true'], user);
	expect(empty.stderr).toContain('no machine of pool:tpu is connected');
	const output = join(scratchDirectory(), 'out.csv');
	const rows = fileWith('id\n1\n2\n3\n4\n');
	const options = ['--result', 'exit', '--executor', 'pool:gpu', '--placement', 'round-robin', '--output', output];
	const job = await run(['fanout', rows, '--argv', '["true"]', ...options, '--job-dir', scratchDirectory()], user);
	expect(job).toMatchObject({code: 0});
	const names = readFileSync(output, 'utf8').match(/lab\/gpu-\d/g);
	expect(names?.sort()).toEqual(['lab/gpu-1', 'lab/gpu-1', 'lab/gpu-2', 'lab/gpu-2']);
});

test('an MCP server works on one machine of a pool, and takes a slot as long as it runs', async () => {
	const hub = await runningHub();
	await servingMember(hub, 'gpu-1', '--pool', 'gpu', '--slots', '1');
	const user = await userOf(hub);
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [PROGRAM, 'mcp', '-e', 'pool:gpu'],
		env: {PATH: process.env['PATH']!, HOME: process.env['HOME']!, ...user},
	});
	const client = new Client({name: 'test', version: '1'});
	await client.connect(transport);
	onTestFinished(() => client.close());
	expect(await callText(client, 'exec', {command: 'echo from the pool'})).toContain('from the pool');
	await eventually(() => hub.hub.relay.findExecutor('gpu-1')!.load!.used === 1);
	expect(await callText(client, 'exec', {command: 'sleep 600', name: 'nap', wait_s: 0})).toContain('nap');
	expect((await run(['ps', '-e', 'lab/gpu-1'], user)).stdout).toContain('nap');
	const full = await run(['run', '-e', 'pool:gpu', '--', 'true'], user);
	expect(full.stderr).toContain('every machine of pool:gpu is full');
});

test('a member that drains under load fails no request', async () => {
	const hub = await runningHub();
	const options = ['--pool', 'gpu', '--slots', '64', '--drain', '60s'];
	const leaving = await servingMember(hub, 'leaving', ...options);
	await servingMember(hub, 'stays', ...options);
	const over = new AbortController();
	const counts = {leaving: 0, stays: 0};
	const work = async (): Promise<void> => {
		while (!over.signal.aborted) {
			const environment = poolEnvironment(hub, 'pool:gpu');
			const result = await environment.run(['sh', '-c', 'sleep 0.05; printf done']);
			expect(result.stdout.text).toBe('done');
			const member = (await environment.member())!.split('/').at(-1) as keyof typeof counts;
			counts[member]++;
			await environment.close();
		}
	};
	const workers = Array.from({length: 6}, work);
	await Promise.race([eventually(() => counts.leaving > 10 && counts.stays > 10), Promise.all(workers)]);
	leaving.child.kill('SIGTERM');
	expect(await leaving.ended).toEqual({code: 0, signal: null});
	const before = {...counts};
	await Promise.race([eventually(() => counts.stays > before.stays + 10), Promise.all(workers)]);
	over.abort();
	await Promise.all(workers);
	expect(counts.leaving).toBe(before.leaving);
});

test('a member that drains lets its clients finish and resume, and takes no new ones', async () => {
	const hub = await runningHub();
	const server = await servingMember(hub, 'gpu-1', '--pool', 'gpu', '--slots', '4', '--drain', '60s');
	const environment = poolEnvironment(hub, 'pool:gpu');
	const process = await environment.start(['sh', '-c', 'read line; echo "got $line"'], {stdin: true});
	server.child.kill('SIGTERM');
	await server.logs('draining');
	await expect(poolEnvironment(hub, 'pool:gpu').member()).rejects.toMatchObject({code: 'POOL_EMPTY'});
	const byName = await run(['run', '-e', `registry+${hub.url}/gpu-1`, '--', 'true'], {
		...newUser(),
		LONGARM_EXEC_SERVER_TOKEN: hub.clientToken,
	});
	expect([byName.code, byName.stderr]).toEqual([125, expect.stringContaining('opens no more sessions')]);
	for (const {socket} of hub.hub.relay.findExecutor('gpu-1')!.harnesses) socket.destroy(new Error('cut'));
	await process.write('again\n');
	expect((await environment.communicate(process)).stdout.text).toBe('got again\n');
	expect((await environment.run(['printf', 'still'])).stdout.text).toBe('still');
	await environment.close();
	expect(await server.ended).toEqual({code: 0, signal: null});
});
