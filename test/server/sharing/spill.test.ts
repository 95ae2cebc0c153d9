// covers: src/server/state, src/server/handlers/log-handlers.ts, src/processes/output/log-cursor.ts, src/processes/logs
import {chmodSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import type {ExecServer} from '../../../src/server/server.js';
import {OPEN_STDIN, refusal} from '../../helpers/process-api.js';
import {scratchDirectory as scratch} from '../../helpers/scratch.js';
import {execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

const KEPT = {onDisconnect: 'keep', spill: {}};
const MIB = 1024 * 1024;

async function enter(server: ExecServer, name = 'agent'): Promise<TestClient> {
	const client = await TestClient.overMemory(server).initialize(undefined, name);
	await client.call('environment/status');
	return client;
}

interface Page {
	readonly chunks: {readonly seq: number; readonly stream: string; readonly ms: number; readonly chunk: string}[];
	readonly next: {readonly seq: number; readonly byte: number};
	readonly atEnd: boolean;
	readonly closed: boolean;
	readonly exitCode: number | null;
	readonly missedBytes?: number;
}

function logs(client: TestClient, processId: string, extra: object = {}): Promise<Page> {
	return client.call<Page>('process/logs', {processId, ...extra});
}

function textOf({chunks}: Page): string {
	return Buffer.concat(chunks.map(({chunk}) => Buffer.from(chunk, 'base64'))).toString();
}

async function readAll(client: TestClient, processId: string, extra: object = {}): Promise<string> {
	let text = '';
	for (
		let page = await logs(client, processId, extra);
		;
		page = await logs(client, processId, {...extra, from: {byte: page.next.byte}})
	) {
		text += textOf(page);
		if (page.atEnd) return text;
	}
}

async function untilListed(
	client: TestClient,
	params: object,
	isReached: (processes: readonly {readonly state: string}[]) => boolean,
): Promise<void> {
	for (;;) {
		const {processes} = await client.call<{processes: {state: string}[]}>('process/list', params);
		if (isReached(processes)) return;
		await new Promise(resolve => setImmediate(resolve));
	}
}

test('a process that keeps its output on disk runs on while its only client is away, and every byte can be had later', async () => {
	const server = execServer({stateDirectory: scratch(), detachedSessionMs: 0});
	const agent = await enter(server);
	await agent.sh('big', 'read line; i=0; while [ $i -lt 200 ]; do printf "%064000d" $i; i=$((i+1)); done; exit 7', {
		...OPEN_STDIN,
		...KEPT,
	});
	await agent.write('big', 'go\n');
	agent.rpc.destroy();
	const human = await enter(server, 'human');
	expect(await human.call('process/attach', {process: 'big', afterSeq: 0})).toMatchObject({firstSeq: 1, driver: null});
	const {exitCode, stdout} = await human.done('big');
	expect(exitCode).toBe(7);
	const expected = Array.from({length: 200}, (_, index) => String(index).padStart(64_000, '0')).join('');
	expect(stdout === expected).toBe(true);
	expect(server.health()['retainedBytes']).toBeLessThan(2 * MIB);
	// The same over pages, from everywhere.
	expect((await readAll(human, 'big')) === expected).toBe(true);
	expect(textOf(await logs(human, 'big', {from: {byte: expected.length - 5}}))).toBe('00199');
	const read = await human.call<{chunks: {seq: number}[]; nextSeq: number; exited: boolean}>('process/read', {
		processId: 'big',
	});
	expect([read.chunks[0]!.seq, read.exited]).toEqual([1, false]);
});

test('a client that does not read holds a process with output on disk back in no way', async () => {
	const server = execServer({stateDirectory: scratch()});
	const agent = await enter(server);
	const resume = agent.rpc.holdReading();
	void agent.sh('flood', 'head -c 20000000 /dev/zero', {spill: {}}).catch(() => {});
	const human = await enter(server, 'human');
	await untilListed(human, {all: true, includeEnded: true}, processes =>
		processes.some(({state}) => state === 'closed'),
	);
	resume();
	const {stdout} = await agent.done('flood');
	expect(stdout.length).toBe(20_000_000);
	expect(agent.about('flood').filter(({method}) => method === 'process/gap')).toEqual([]);
});

test.each([false, true])(
	'a process that exits while its disk space is full ends, with its last output (terminal: %s)',
	async tty => {
		const agent = await enter(execServer({stateDirectory: scratch()}));
		await agent.sh('job', 'printf one; read line; printf two; exit 3', {...OPEN_STDIN, tty, spill: {maxBytes: 1}});
		await agent.shows('job', 'one');
		await agent.write('job', '\n');
		expect((await agent.done('job')).exitCode).toBe(3);
		expect((await readAll(agent, 'job')).replaceAll(/\s/g, '')).toBe('onetwo');
	},
);

test.each([
	['are removed by its owner', (agent: TestClient) => agent.call('process/remove', {processId: 'job'})],
	['vanish', async (_: TestClient, directory: string) => rmSync(directory, {recursive: true})],
])('an observer of an ended process whose files %s is told of the gap, and the server goes on', async (_, remove) => {
	const stateDirectory = scratch();
	const server = execServer({stateDirectory, retainBytes: 0});
	const agent = await enter(server);
	await agent.sh('job', 'echo text; exit 3', KEPT);
	await agent.done('job');
	const human = await enter(server, 'human');
	const attached = human.call('process/attach', {process: 'job', afterSeq: 0});
	await remove(agent, join(stateDirectory, 'processes', 'job'));
	expect(await attached).toMatchObject({processId: 'job', nextSeq: 4});
	expect((await human.event('job', 'process/exited'))['exitCode']).toBe(3);
	await human.event('job', 'process/closed');
	expect(human.about('job').map(({method, params}) => [method, params['missedBytes']])).toEqual([
		['process/gap', 5],
		['process/exited', undefined],
		['process/closed', undefined],
	]);
	await agent.sh('next', 'exit 0');
	expect((await agent.done('next')).exitCode).toBe(0);
});

test('a page of logs that waits while its process is removed is that of an unknown process', async () => {
	const agent = await enter(execServer({stateDirectory: scratch()}));
	await agent.sh('job', 'echo text', KEPT);
	await agent.done('job');
	const page = refusal(logs(agent, 'job'));
	await agent.call('process/remove', {processId: 'job'});
	expect(await page).toEqual({code: -32600, message: 'the process was removed with its output'});
});

test('logs are read by event, byte, time and lines, of one stream, and followed to the end', async () => {
	const server = execServer({stateDirectory: scratch()});
	const agent = await enter(server);
	await agent.sh('job', 'echo one; echo two >&2; read line; echo three; read line; printf four', {
		...OPEN_STDIN,
		...KEPT,
	});
	await agent.shows('job', 'two');
	await agent.write('job', '\n');
	await agent.shows('job', 'three');
	expect((await readAll(agent, 'job')).split('\n').sort()).toEqual(['', 'one', 'three', 'two']);
	expect(textOf(await logs(agent, 'job', {stream: 'stderr'}))).toBe('two\n');
	expect(textOf(await logs(agent, 'job', {from: {tail: 1}}))).toBe('three\n');
	const third = (await logs(agent, 'job')).chunks.at(-1)!;
	expect(textOf(await logs(agent, 'job', {from: {seq: third.seq}}))).toBe('three\n');
	expect(textOf(await logs(agent, 'job', {from: {ms: third.ms}}))).toContain('three\n');
	expect(textOf(await logs(agent, 'job', {grep: '^t.*e$'}))).toBe('three\n');
	const {next} = await logs(agent, 'job');
	const following = logs(agent, 'job', {from: {byte: next.byte}, waitMs: 600_000});
	await agent.write('job', '\n');
	expect(textOf(await following)).toBe('four');
	await agent.done('job');
	expect(await logs(agent, 'job', {from: {tail: 1}})).toMatchObject({atEnd: true, closed: true, exitCode: 0});
});

test('lines that match are found in output of any size', async () => {
	const agent = await enter(execServer({stateDirectory: scratch()}));
	// More than a reader of the files holds at once.
	await agent.start('job', ['seq', '100000', '199999'], KEPT);
	await agent.done('job');
	expect(await readAll(agent, 'job', {grep: '^1.0001$'})).toBe(
		Array.from({length: 10}, (_, digit) => `1${digit}0001\n`).join(''),
	);
});

test('output, exit and name of an ended process are there after a restart, and gone when it is removed', async () => {
	const stateDirectory = scratch();
	const first = execServer({stateDirectory});
	const before = await enter(first);
	await before.sh('job-1', 'echo out; echo err >&2; exit 5', {...KEPT, name: 'job', labels: {a: 'b'}});
	await before.done('job-1');
	await before.sh('../../hostile', 'echo hostile', KEPT);
	await before.done('../../hostile');
	await first.shutdown(0);
	expect(readdirSync(stateDirectory).sort()).toEqual(['lock', 'processes', 'version']);
	const server = execServer({stateDirectory});
	server.openState();
	const client = await enter(server);
	const list = async (): Promise<{processId: string; generation: string}[]> =>
		(
			await client.call<{processes: {processId: string; generation: string}[]}>('process/list', {
				all: true,
				includeEnded: true,
			})
		).processes;
	expect(await list()).toEqual(
		expect.arrayContaining([
			expect.objectContaining({
				processId: 'job-1',
				name: 'job',
				state: 'closed',
				exitCode: 5,
				reason: 'exit',
				labels: {a: 'b'},
			}),
			expect.objectContaining({processId: '../../hostile'}),
		]),
	);
	expect((await readAll(client, 'job')).split('\n').sort()).toEqual(['', 'err', 'out']);
	await client.call('process/attach', {process: 'job', afterSeq: 0});
	expect(await client.done('job-1')).toMatchObject({exitCode: 5, stdout: 'out\n', stderr: 'err\n'});
	expect(await client.call('process/wait', {processId: 'job-1'})).toEqual({
		exitCode: 5,
		running: false,
		reason: 'exit',
	});
	await client.call('process/remove', {processId: 'job'});
	expect((await list()).map(({processId}) => processId)).toEqual(['../../hostile']);
	expect(readdirSync(join(stateDirectory, 'processes'))).toHaveLength(1);
	await client.sh('job-1', 'sleep 1000', KEPT);
	expect(await refusal(client.call('process/remove', {processId: 'job-1'}))).toMatchObject({
		data: {code: 'PROCESS_RUNNING'},
	});
});

test('a process of a session whose output is on disk is found after the session has forgotten it', async () => {
	const server = execServer({stateDirectory: scratch(), retainClosedMs: 0});
	const agent = await enter(server);
	await agent.sh('job', 'echo text', {spill: {}});
	await agent.done('job');
	await untilListed(agent, {}, processes => processes.length === 0);
	expect(await readAll(agent, 'job')).toBe('text\n');
});

test('a state directory that cannot be used is an error with the reason, and nothing is started', async () => {
	const locked = scratch();
	execServer({stateDirectory: locked}).openState();
	const other = scratch();
	writeFileSync(join(other, 'version'), '99\n');
	const open = scratch();
	chmodSync(open, 0o777);
	for (const [stateDirectory, reason] of [
		[locked, /is used by the server with process id/],
		[other, /version "99"/],
		[open, /writable by others/],
		['/proc/none', /./],
	] as const) {
		const agent = await enter(execServer({stateDirectory}));
		const answer = await refusal(agent.sh('job', 'echo text', KEPT));
		expect(answer).toMatchObject({data: {code: 'STATE_UNUSABLE'}, message: expect.stringMatching(reason) as string});
		expect(await agent.call('process/list', {all: true})).toEqual({processes: []});
	}
	const without = await enter(execServer({}));
	expect(await refusal(without.sh('job', 'echo text', KEPT))).toMatchObject({
		message: 'this server keeps nothing on disk',
	});
});

test('the files of a server that was killed are read as far as they are whole, and its process is lost', async () => {
	const stateDirectory = scratch();
	const first = execServer({stateDirectory});
	const before = await enter(first);
	await before.sh('job', 'echo one; echo two; echo three', KEPT);
	await before.done('job');
	await first.shutdown(0);
	// As if the power had gone in the middle of it.
	const directory = join(stateDirectory, 'processes', 'job');
	const index = readFileSync(join(directory, 'idx'));
	truncateSync(join(directory, 'idx'), index.length - 32 * 2 - 7);
	rmSync(join(directory, 'exit.json'));
	const server = execServer({stateDirectory});
	server.openState();
	const client = await enter(server);
	const {processes} = await client.call<{processes: object[]}>('process/list', {all: true, includeEnded: true});
	expect(processes).toMatchObject([{processId: 'job', state: 'lost', exitCode: null}]);
	expect(await client.call('process/wait', {processId: 'job'}).catch((error: Error) => error.message)).toMatch(
		/unknown process/,
	);
	await client.call('process/attach', {process: 'job', afterSeq: 0});
	await client.event('job', 'process/closed');
	expect(client.about('job').some(({method}) => method === 'process/exited')).toBe(false);
	expect(await client.call('process/wait', {processId: 'job'})).toEqual({exitCode: null, running: false, reason: null});
	onTestFinished(() => server.shutdown(0));
});

test('ended processes beyond their number are removed, the oldest first', async () => {
	const stateDirectory = scratch();
	const agent = await enter(execServer({stateDirectory, stateMaxProcesses: 5}));
	for (let count = 1; count <= 101; count++) {
		await agent.sh(`job-${count}`, 'echo text', KEPT);
		await agent.event(`job-${count}`, 'process/closed');
	}
	await untilListed(agent, {all: true, includeEnded: true}, processes => processes.length <= 8);
	expect(await readAll(agent, 'job-100')).toBe('text\n');
	expect(await refusal(agent.call('process/logs', {processId: 'job-1'}))).toMatchObject({
		message: 'unknown process id job-1',
	});
	while (readdirSync(join(stateDirectory, 'processes')).length > 8) await new Promise(resolve => setImmediate(resolve));
});

test('a followed log with a filter misses no output that came while lines were filtered', async () => {
	const agent = await enter(execServer({stateDirectory: scratch()}));
	await agent.sh('job', 'echo first; cat', {...KEPT, ...OPEN_STDIN});
	await agent.event('job', 'process/output');
	// The thread that filters is yet to be started: what is written meanwhile is in the log before it answers.
	const followed = logs(agent, 'job', {grep: 'wanted', waitMs: 600_000});
	await agent.call('process/write', {processId: 'job', chunk: Buffer.from('wanted\n').toString('base64')});
	expect(textOf(await followed)).toBe('wanted\n');
});
