import {mkdirSync, mkdtempSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {withTimeEnough} from '../helpers/clock.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {CLI_TARGETS} from '../helpers/transports.js';

const OUR_OWN_FAILURE = 125;

describe.each(Object.entries(CLI_TARGETS))('on %s', (_name, startTarget) => {
	const started = async (...args: string[]): Promise<Command> =>
		new Command(['run', ...(await startTarget()), ...args]);
	const finished = async (...args: string[]) => run(['run', ...(await startTarget()), ...args]);

	test('output comes back on the stream it was written to, and the exit code is passed on', async () => {
		expect(await finished('--', 'sh', '-c', 'echo out; echo err >&2; exit 7')).toEqual({
			code: 7,
			signal: null,
			stdout: 'out\n',
			stderr: 'err\n',
		});
	});

	test('options behind the command belong to the command', async () => {
		expect((await finished('echo', '--cwd', '-e', 'x')).stdout).toBe('--cwd -e x\n');
	});

	test('a command that a signal ends has 128 and its number', async () => {
		expect((await finished('sh', '-c', 'kill -TERM $$')).code).toBe(143);
	});

	test('variables and the working directory are those that were asked for', async () => {
		const directory = mkdtempSync(join(scratchDirectory(), 'a place '));
		const args = ['--env', 'ONE=1=1', '--env', 'TWO=', '--cwd', directory, '--', 'sh', '-c'];
		const {stdout} = await finished(...args, 'echo "$ONE,$TWO,${TWO+set}"; pwd');
		expect(stdout).toBe(`1=1,,set\n${directory}\n`);
	});

	test('a program that is not there, one that is not executable and a directory that is not there are told apart', async () => {
		const file = join(scratchDirectory(), 'file');
		writeFileSync(file, '');
		const results = [
			await finished('no-such-program'),
			await finished(file),
			await finished('--cwd', '/no/such/place', 'true'),
		];
		expect(results.map(({code}) => code)).toEqual([127, 126, OUR_OWN_FAILURE]);
		expect(results.map(({stderr}) => stderr.split('\n')[0])).toEqual([
			'error: no-such-program: not found',
			`error: ${file}: not executable`,
			expect.stringContaining('error: /no/such/place: not a directory'),
		]);
	});

	test('a command that takes too long is asked to end, and the code says so', async () => {
		const script = 'trap "echo asked; exit 3" TERM; echo ready; while :; do sleep 0.01; done';
		const stdout = await withTimeEnough(async limitMs => {
			const result = await finished('--timeout', `${limitMs}ms`, '--', 'sh', '-c', script);
			expect(result.code).toBe(124);
			return result.stdout.includes('asked') ? result.stdout : undefined;
		});
		expect(stdout).toBe('ready\nasked\n');
	});

	test('a command that will not end when its time is over is killed', async () => {
		const script = 'trap "" TERM; echo $$; while :; do sleep 0.01; done';
		const pid = await withTimeEnough(async limitMs => {
			const {code, stdout} = await finished('--timeout', `${limitMs}ms`, '--', 'sh', '-c', script);
			expect(code).toBe(124);
			return stdout === '' ? undefined : Number(stdout);
		});
		await untilDead(pid);
	});

	test('a command that has left a child is over with it at its time limit, in seconds without a unit, and the code says so', async () => {
		const [pid, report] = await withTimeEnough(async limitMs => {
			const timeout = String(limitMs / 1000);
			const {code, stdout} = await finished(
				'--json',
				'--timeout',
				timeout,
				'--',
				'sh',
				'-c',
				'sleep 1000 & echo $!; exit 3',
			);
			expect(code).toBe(124);
			const told = JSON.parse(stdout) as {stdout: string; exitCode: number | null};
			return told.exitCode === 3 ? [Number(told.stdout), told] : undefined;
		});
		expect(report).toMatchObject({reason: 'timeout', exitCode: 3});
		expect(isAlive(pid)).toBe(false);
	});

	test.each([
		['SIGINT', 'INT'],
		['SIGTERM', 'TERM'],
		['SIGHUP', 'HUP'],
		['SIGQUIT', 'QUIT'],
	] as const)('%s is passed on, and the command decides what comes of it', async (signal, name) => {
		const command = await started(
			'sh',
			'-c',
			`trap "echo heard; exit 9" ${name}; echo ready; while :; do sleep 0.01; done`,
		);
		await command.until(() => command.stdout.includes('ready'), 'it was ready');
		command.child.kill(signal);
		expect([await command.ended, command.stdout]).toEqual([{code: 9, signal: null}, 'ready\nheard\n']);
	});

	test('the second Ctrl-C kills a command that ignores the first', async () => {
		const command = await started('sh', '-c', 'trap "echo no" INT; echo $$; while :; do sleep 0.01; done');
		await command.until(() => command.stdout.includes('\n'), 'it was ready');
		const pid = Number.parseInt(command.stdout, 10);
		command.child.kill('SIGINT');
		await command.until(() => command.stdout.includes('no'), 'it heard of it');
		expect(isAlive(pid)).toBe(true);
		command.child.kill('SIGINT');
		expect(await command.ended).toEqual({code: 137, signal: null});
		await untilDead(pid);
	});

	test('a command that does not read its input does not have to', async () => {
		const command = await started('true');
		// The input stays open.
		expect(await command.ended).toEqual({code: 0, signal: null});
	});

	test('with --tty the command is on a terminal of the usual size', async () => {
		const {stdout, code} = await finished('--tty', '--', 'sh', '-c', 'test -t 0 && test -t 1 && stty size');
		expect([stdout, code]).toEqual(['24 80\r\n', 0]);
	});
});

test.each([
	[['run'], 'missing required argument'],
	[['run', '--timeout', 'soon', 'true'], 'error: --timeout soon: expected a time'],
	[['run', '--env', '=x', 'true'], 'error: --env =x: expected NAME=VALUE'],
	[['run', '-e', 'nowhere', 'true'], 'error: unknown environment `nowhere`'],
	[['run', '-e', 'ws://127.0.0.1:1', 'true'], 'error: failed to connect to exec-server websocket `ws://127.0.0.1:1`'],
	[['run', '-e', 'cmd:exit 3', 'true'], 'error: '],
])('%j is a failure of our own', async (args, message) => {
	const {code, stdout, stderr} = await run(args, {LONGARM_HOME: '/no/such/home'});
	expect([code, stdout]).toEqual([OUR_OWN_FAILURE, '']);
	expect(stderr).toContain(message);
});

test('a machine that cannot be reached is told in a line, with what helps', async () => {
	const {code, stderr} = await run(['run', '-e', 'ws://127.0.0.1:1', '--', 'true']);
	expect(code).toBe(125);
	expect(stderr).toMatch(/^error: failed to connect .*ECONNREFUSED.*\nhint: Check the address, .*longarm serve\.\n$/);
});

test('--cwd ~ is the home directory of where the command runs', async () => {
	const [here, there] = [scratchDirectory(), scratchDirectory()];
	for (const home of [here, there]) mkdirSync(join(home, 'below'));
	const server = `cmd:HOME=${there} exec ${process.execPath} ${PROGRAM} serve --listen stdio --log-level silent`;
	const pwd = async (cwd: string, ...where: string[]) =>
		(await run(['run', ...where, '--cwd', cwd, '--', 'pwd'], {HOME: here})).stdout;
	expect([await pwd('~'), await pwd('~/below')]).toEqual([`${here}\n`, `${here}/below\n`]);
	const far = [await pwd('~', '-e', server), await pwd('~/below', '-e', server)];
	expect(far).toEqual([`${there}\n`, `${there}/below\n`]);
});
