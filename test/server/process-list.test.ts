import {expect, test} from 'vitest';
import {readProcessInfo} from '../../src/processes/tree/process-tree.js';
import {GatedBackend} from '../helpers/gated-backend.js';
import {joined, listed, OPEN_STDIN, served, TERMINAL, toldPids} from '../helpers/process-api.js';
import {eventually, untilDead} from '../helpers/processes.js';
import type {TestClient} from '../helpers/test-client.js';

/** Members of a process on pipes that one client uses alone. */
const UNSHARED_ENTRY = {
	name: null,
	owner: null,
	labels: {},
	durable: false,
	spilledBytes: null,
	attached: [{client: 'test', role: 'drive', sinceMs: expect.any(Number) as unknown, isSelf: true}],
	driver: 'test',
	rows: null,
	cols: null,
	generation: expect.stringMatching(/^\d+\.\d+\.\d+-/) as unknown,
};
const TIMES = {startedAtMs: expect.any(Number) as unknown, ageMs: expect.any(Number) as unknown};

const argv = (script: string): string[] => ['/bin/sh', '-c', script];

/** A child is called like its parent until it has become what it is to be. */
async function becomes(pid: number, command: string): Promise<void> {
	await eventually(() => readProcessInfo(pid)?.command === command);
}

/** The first process below this one, once there is one. */
async function descendant(client: TestClient, processId: string): Promise<number | undefined> {
	for (;;) {
		const {descendants} = (await listed(client, processId))!;
		if (descendants.length > 0) return descendants[0]!.pid;
	}
}

test('every process of the session is listed with what it is and how far it got', async () => {
	const backend = new GatedBackend();
	const {client} = await served({backend: () => backend});
	const letIn = async (start: Promise<unknown>): Promise<void> => {
		await eventually(() => backend.waiting === 1);
		backend.open();
		await start;
	};
	await letIn(client.sh('running', 'echo $$; cat', TERMINAL));
	await letIn(client.sh('exited', 'sleep 1000 & echo $$ $!; exit 3'));
	await letIn(client.sh('closed', 'echo $$; kill -9 $$'));
	const starting = client.sh('starting', 'cat', OPEN_STDIN);
	await eventually(() => backend.waiting === 1);
	const [running] = await toldPids(client, 'running', 1);
	const [exited] = await toldPids(client, 'exited', 2);
	const [closed] = await toldPids(client, 'closed', 1);
	await becomes((await descendant(client, 'running'))!, 'cat');
	await client.event('exited', 'process/exited');
	await client.event('closed', 'process/closed');
	expect(await client.call('process/list')).toEqual({
		processes: [
			{
				processId: 'running',
				state: 'running',
				pid: running,
				argv: argv('echo $$; cat'),
				tty: true,
				...TIMES,
				outputBytes: `${running}\r\n`.length,
				exitCode: null,
				reason: null,
				descendants: [{pid: expect.any(Number) as unknown, parentPid: running, command: 'cat'}],
				...UNSHARED_ENTRY,
				rows: 24,
				cols: 80,
			},
			{
				processId: 'exited',
				state: 'exited',
				pid: exited,
				argv: argv('sleep 1000 & echo $$ $!; exit 3'),
				tty: false,
				...TIMES,
				outputBytes: client.output('exited').length,
				exitCode: 3,
				reason: 'exit',
				descendants: [],
				...UNSHARED_ENTRY,
			},
			{
				processId: 'closed',
				state: 'closed',
				pid: closed,
				argv: argv('echo $$; kill -9 $$'),
				tty: false,
				...TIMES,
				outputBytes: `${closed}\n`.length,
				exitCode: 137,
				reason: 'signal',
				descendants: [],
				...UNSHARED_ENTRY,
			},
			{
				processId: 'starting',
				state: 'starting',
				pid: null,
				argv: argv('cat'),
				tty: false,
				...TIMES,
				outputBytes: 0,
				exitCode: null,
				reason: null,
				descendants: [],
				...UNSHARED_ENTRY,
			},
		],
	});
	backend.open();
	await starting;
	expect(await listed(client, 'starting')).toMatchObject({state: 'running', pid: expect.any(Number) as unknown});
});

test('what runs below a process is listed, whatever group or session it moved to', async () => {
	const {client} = await served();
	await client.sh('p', 'sleep 1000 & echo $!; setsid sh -c "sleep 1000 & echo \\$\\$ \\$!; wait" & wait');
	const pids = await toldPids(client, 'p', 3);
	const [child, leader, grandchild] = pids;
	for (const pid of [child, grandchild]) await becomes(pid!, 'sleep');
	const {pid, descendants} = (await listed(client, 'p'))!;
	expect(new Set(descendants)).toEqual(
		new Set([
			{pid: child, parentPid: pid, command: 'sleep'},
			{pid: leader, parentPid: pid, command: 'sh'},
			{pid: grandchild, parentPid: leader, command: 'sleep'},
		]),
	);
	await client.call('process/terminate', {processId: 'p'});
	await untilDead(...pids);
	expect((await listed(client, 'p'))?.descendants).toEqual([]);
});

test('a process that has gone from below another is not listed any more', async () => {
	const {client} = await served();
	await client.sh('p', 'sleep 1000 & echo $!; wait; read line', OPEN_STDIN);
	const [child] = await toldPids(client, 'p', 1);
	expect((await listed(client, 'p'))?.descendants.map(({pid}) => pid)).toEqual([child]);
	process.kill(child!, 'SIGKILL');
	await untilDead(child!);
	expect((await listed(client, 'p'))?.descendants).toEqual([]);
});

test('a session lists its own processes only, with their times, and none once they are forgotten', async () => {
	const {url, client} = await served({retainClosedMs: 1});
	const other = await joined(url);
	expect(await other.call('process/list', {})).toEqual({processes: []});
	const before = Date.now();
	await client.sh('p', 'cat', OPEN_STDIN);
	expect(await other.call('process/list')).toEqual({processes: []});
	const {startedAtMs, ageMs} = (await listed(client, 'p'))!;
	expect(startedAtMs).toBeGreaterThanOrEqual(before);
	expect(startedAtMs + ageMs).toBeLessThanOrEqual(Date.now());
	await client.call('process/closeStdin', {processId: 'p'});
	await client.event('p', 'process/closed');
	for (let left = 1; left > 0; ) left = (await client.call<{processes: unknown[]}>('process/list')).processes.length;
});
