import {expect, test} from 'vitest';
import {run} from '../helpers/command.js';
import {optionalProgram} from '../helpers/needs.js';
import {ProcessServer} from '../helpers/process-server.js';
import {isAlive} from '../helpers/processes.js';

test('a stopped process has ended with all it started, and stopping it again is no failure', async () => {
	const server = await ProcessServer.start();
	await server.detached('--name', 'web', '--', 'sh', '-c', 'sleep 1000 & echo $!; wait');
	const text = await server.longarm('wait', 'web', '--text', String.raw`\d+`);
	expect(await server.longarm('stop', 'web')).toMatchObject({
		code: 0,
		stdout: 'web: ended with code 143\n',
		stderr: '',
	});
	expect(isAlive(Number(text.stdout.slice('text: '.length)))).toBe(false);
	expect(await server.longarm('stop', 'web')).toMatchObject({code: 0, stdout: 'web: had ended with code 143\n'});
});

test('one that does not listen is killed after its time, and another signal can be sent', async () => {
	const server = await ProcessServer.start();
	await server.detached('--name', 'deaf', '--', 'sh', '-c', 'trap "" TERM; echo on; while :; do sleep 0.1; done');
	await server.longarm('wait', 'deaf', '--text', 'on');
	expect(await server.longarm('stop', '--grace', '50ms', 'deaf')).toMatchObject({
		code: 0,
		stdout: 'deaf: ended with code 137\n',
	});
	await server.detached(
		'--name',
		'polite',
		'--',
		'sh',
		'-c',
		'trap "exit 9" USR1; echo on; while :; do sleep 0.1; done',
	);
	await server.longarm('wait', 'polite', '--text', 'on');
	expect(await server.longarm('stop', '-s', 'sigusr1', 'polite')).toMatchObject({
		stdout: 'polite: ended with code 9\n',
	});
});

const INTERACTIVE_SHELLS: [string, ...string[]][] = [
	['sh', '-i'],
	['bash', '--norc', '-i'],
	['zsh', '-f', '-i'],
];

test.each(INTERACTIVE_SHELLS)('an interactive %s, which ignores SIGTERM, is stopped with SIGHUP', async (...argv) => {
	if (argv[0] === 'zsh') optionalProgram('zsh');
	const server = await ProcessServer.start();
	await server.detached('-t', '--name', 'work', '--', ...argv);
	await server.longarm('wait', 'work', '--text', '[$#%] ');
	const {code, stdout} = await server.longarm('stop', '--grace', '60s', 'work');
	expect(code).toBe(0);
	// Killed by the signal, or with an exit code of its own: zsh has 1.
	expect(stdout).toMatch(/^work: ended with code (129|1)\n$/);
});

test('a program on a terminal that heeds SIGTERM gets no SIGHUP, and a given signal is the only one', async () => {
	const server = await ProcessServer.start();
	const trap = 'trap "exit 7" HUP; trap "exit 8" TERM; echo on; while :; do sleep 0.1; done';
	await server.detached('-t', '--name', 'polite', '--', 'sh', '-c', trap);
	await server.longarm('wait', 'polite', '--text', 'on');
	expect(await server.longarm('stop', 'polite')).toMatchObject({stdout: 'polite: ended with code 8\n'});
	await server.detached(
		'-t',
		'--name',
		'deaf',
		'--',
		'sh',
		'-c',
		`trap '' TERM; ${trap.replace(/trap "exit 8" TERM; /, '')}`,
	);
	await server.longarm('wait', 'deaf', '--text', 'on');
	expect(await server.longarm('stop', '-s', 'TERM', '--grace', '50ms', 'deaf')).toMatchObject({
		stdout: 'deaf: ended with code 137\n',
	});
});

test('of several processes the others are stopped when one cannot be found', async () => {
	const server = await ProcessServer.start();
	await server.detached('--name', 'one', '--', 'sleep', '1000');
	await server.detached('--name', 'two', '--', 'sleep', '1000');
	const {code, stdout, stderr} = await server.longarm('stop', 'one', 'nobody', 'two');
	expect([code, stdout]).toEqual([1, 'one: ended with code 143\ntwo: ended with code 143\n']);
	expect(stderr).toMatch(/^error: no process of .* has the id or name `nobody`\nhint: .*\n$/);
});

test('a removed process is forgotten, one that runs is not removed without force', async () => {
	const server = await ProcessServer.start();
	await server.detached('--name', 'job', '--', 'sleep', '1000');
	const refused = await server.longarm('rm', 'job');
	expect([refused.code, refused.stdout]).toEqual([1, '']);
	expect(refused.stderr).toMatch(/^error: process \S+ has not ended\nhint: Stop it first\.\n$/);
	expect(await server.longarm('rm', '-f', 'job')).toMatchObject({code: 0, stdout: 'job: removed\n', stderr: ''});
	expect(await server.list()).toEqual([]);
	expect(await server.longarm('logs', 'job')).toMatchObject({code: 1});
});

test.each<[string[], string]>([
	[['stop', '--signal', '??', 'x'], '--signal ??: expected a name such as INT or SIGHUP'],
	[['stop', '--grace', 'soon', 'x'], '--grace soon: expected a time such as 30s, 500ms or 2h'],
	[['stop'], "missing required argument 'ID'"],
	[['rm'], "missing required argument 'ID'"],
])('longarm %j is misused', async (args, message) => {
	const {code, stdout, stderr} = await run(args);
	expect([code, stdout]).toEqual([2, '']);
	expect(stderr).toContain(`error: ${message}`);
});
