import {describe, expect, test} from 'vitest';
import {
	formatAge,
	formatCommand,
	formatProcesses,
	type ProcessRow,
	toProcessObject,
} from '../../src/cli/commands/ps/listed-lines.js';
import {run} from '../helpers/command.js';
import {ProcessServer} from '../helpers/process-server.js';

const PROCESS: ProcessRow['process'] = {
	processId: 'p1',
	state: 'running',
	pid: 42,
	argv: ['sh', '-c', "echo 'x y'"],
	tty: true,
	startedAtMs: 1_700_000_000_000,
	ageMs: 125_000,
	outputBytes: 10,
	exitCode: null,
	reason: null,
	descendants: [],
	name: 'web',
	driver: 'alice',
	waitingFor: 'password',
	rows: 24,
	cols: 80,
};

test('a table has a line for every process, with what there is to know', () => {
	const rows = [
		{environment: 'devbox', process: PROCESS},
		{environment: 'devbox', process: {...PROCESS, processId: 'longer', name: null, driver: null, waitingFor: null}},
	];
	expect(formatProcesses(rows, {hasEnvironments: false})).toEqual([
		'ID      NAME  STATE    EXIT  PID  DRIVER  WAITING   AGE  COMMAND',
		String.raw`p1      web   running     -   42  alice   password   2m  sh -c 'echo '\''x y'\'''`,
		String.raw`longer  -     running     -   42  -       -          2m  sh -c 'echo '\''x y'\'''`,
	]);
	expect(formatProcesses(rows, {hasEnvironments: true})[1]).toMatch(/^devbox {2}p1 /);
	expect(formatProcesses(rows, {hasEnvironments: false, width: 20})[1]).toBe('p1      web   runni…');
});

test('nothing a server says about a process acts on a terminal', () => {
	const hostile = 'x\u001b]0;owned\u0007\n\u009b31m\u202e';
	const process = {...PROCESS, processId: hostile, name: hostile, driver: hostile, argv: [hostile]};
	const lines = formatProcesses([{environment: hostile, process}], {hasEnvironments: true});
	expect(lines).toHaveLength(2);
	expect(lines.join('')).not.toMatch(/\p{Cc}|\u202e/u);
});

test.each<[number, string]>([
	[-5, '0s'],
	[0, '0s'],
	[119_999, '119s'],
	[120_000, '2m'],
	[2 * 3_600_000, '2h'],
	[3 * 86_400_000, '3d'],
])('an age of %d ms is %s', (ms, text) => {
	expect(formatAge(ms)).toBe(text);
});

test('a command is shown as a shell takes it', () => {
	expect(formatCommand(['make', '-j4', 'a b', '', "it's"])).toBe(String.raw`make -j4 'a b' '' 'it'\''s'`);
});

test('programs get every member, and a time that no date has is null', () => {
	expect(toProcessObject({environment: 'e', process: PROCESS}, false)).toMatchObject({
		id: 'p1',
		name: 'web',
		pid: 42,
		state: 'running',
		exitCode: null,
		owner: null,
		driver: 'alice',
		waitingFor: 'password',
		durable: false,
		startedAt: '2023-11-14T22:13:20.000Z',
		command: ['sh', '-c', "echo 'x y'"],
	});
	const never = {environment: 'e', process: {...PROCESS, startedAtMs: 1e30}};
	expect(toProcessObject(never, true)).toMatchObject({environment: 'e', startedAt: null});
});

describe('with servers', () => {
	test('ended processes are listed with -a only', async () => {
		const server = await ProcessServer.start();
		const id = await server.detached('--', 'sh', '-c', 'exit 3');
		await server.longarm('wait', id);
		expect(JSON.parse((await server.longarm('ps', '--json')).stdout)).toEqual([]);
		expect(await server.list()).toMatchObject([{id, state: 'closed', exitCode: 3}]);
		const {stdout} = await server.longarm('ps', '-a');
		expect(stdout).toMatch(/^ID .*\n/);
		expect(stdout).toContain(`\n${id}  -     closed     3  `);
	});

	test('of several environments those that answer are shown, and the exit code tells of the others', async () => {
		const [one, other] = [await ProcessServer.start(), await ProcessServer.start()];
		await one.detached('--name', 'first', '--', 'sleep', '1000');
		await other.detached('--name', 'second', '--', 'sleep', '1000');
		const {code, stdout, stderr} = await one.longarm('ps', '--json', '-e', other.url, '-e', 'ws://127.0.0.1:1');
		expect(code).toBe(1);
		expect(JSON.parse(stdout)).toMatchObject([
			{environment: one.url, name: 'first'},
			{environment: other.url, name: 'second'},
		]);
		expect(stderr).toMatch(/^error: ws:\/\/127\.0\.0\.1:1: .*\nhint: .*\n$/);
		const table = await one.longarm('ps', '-e', other.url);
		expect(table.stdout.split('\n').map(line => line.split(' ')[0])).toEqual(['ENV', one.url, other.url, '']);
	});

	test('--watch draws the list again until Ctrl-C, and puts the screen back', async () => {
		const server = await ProcessServer.start();
		const terminal = await server.onTerminal('ps', '--watch');
		await terminal.shows('COMMAND');
		await server.detached('--name', 'fresh', '--', 'sleep', '1000');
		await terminal.shows('fresh');
		await terminal.type('\u0003');
		expect(await terminal.ended).toMatchObject({exitCode: 130});
		expect(terminal.raw.startsWith('\u001B[?1049h')).toBe(true);
		expect(terminal.raw).toContain('\u001B[?1049l');
	});

	test.each<[string[], string]>([
		[['--watch'], '--watch needs a terminal to draw on'],
		[['--watch', '--json'], '--watch and --json exclude each other'],
		[['--label', 'x'], '--label x: expected KEY=VALUE'],
		[['-e', 'no-such'], 'unknown environment `no-such`'],
	])('ps %j is misused', async (options, message) => {
		const {code, stdout, stderr} = await run(['ps', ...options]);
		expect([code, stdout]).toEqual([2, '']);
		expect(stderr).toContain(`error: ${message}`);
	});
});
