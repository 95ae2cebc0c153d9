import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {run} from '../helpers/command.js';
import {isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

/** Variables of a user whose daemon ends with the test. */
function freshUser(): Record<string, string> {
	const home = scratchDirectory();
	const env = {HOME: home, XDG_STATE_HOME: join(home, 's'), LONGARM_HOME: join(home, 'l')};
	onTestFinished(async () => {
		const log = join(home, 's/longarm/local/serve.log');
		const pids = existsSync(log) ? readFileSync(log, 'utf8').matchAll(/"listening".*"pid":(\d+)/g) : [];
		for (const [, pid] of pids) {
			if (isAlive(Number(pid))) process.kill(Number(pid), 'SIGTERM');
			await untilDead(Number(pid));
		}
	});
	return env;
}

test('a list of the processes of this machine starts no daemon', async () => {
	const home = scratchDirectory();
	const env = {HOME: home, XDG_STATE_HOME: join(home, 's')};
	expect(await run(['ps', '-a', '--json'], env)).toMatchObject({code: 0, stdout: '[]\n', stderr: ''});
	expect(await run(['logs', 'x'], env)).toMatchObject({code: 1});
	expect(existsSync(join(home, 's'))).toBe(false);
});

test('processes of this machine stay with a daemon, which is found again', async () => {
	const env = freshUser();
	const {code, stdout, stderr} = await run(['run', '-d', '--name', 'job', '--', 'sh', '-c', 'echo here; exit 3'], env);
	expect([code, stderr]).toEqual([0, '']);
	const id = stdout.trim();
	expect(await run(['wait', 'job'], env)).toMatchObject({code: 3});
	expect(await run(['logs', '-e', 'local', id], env)).toMatchObject({code: 0, stdout: 'here\n'});
	const {stdout: listed} = await run(['ps', '-a', '--json'], env);
	expect(JSON.parse(listed)).toMatchObject([{id, name: 'job', exitCode: 3}]);
	expect(await run(['rm', 'job'], env)).toMatchObject({code: 0});
});

test('a command of this machine that is kept is listed as durable', async () => {
	const env = freshUser();
	expect(await run(['run', '--keep', '--name', 'kept', '--', 'sleep', '1000'], env)).toMatchObject({
		code: 0,
		stderr: '',
	});
	expect(JSON.parse((await run(['ps', '--json'], env)).stdout)).toMatchObject([{name: 'kept', durable: true}]);
	expect(await run(['rm', '-f', 'kept'], env)).toMatchObject({code: 0});
});

test('a command with a name is with the daemon as well, and has our streams', async () => {
	const env = freshUser();
	const {code, stdout} = await run(['run', '--name', 'seen', '--', 'sh', '-c', 'echo "$HOME"; exit 4'], env);
	expect([code, stdout]).toEqual([4, `${env['HOME']}\n`]);
	expect(JSON.parse((await run(['ps', '-a', '--json'], env)).stdout)).toMatchObject([{name: 'seen', exitCode: 4}]);
});

test('a command stops the daemon, and what has ended is found by the next one', async () => {
	const env = freshUser();
	expect(await run(['daemon', 'stop'], env)).toMatchObject({code: 0, stdout: 'the local daemon does not run\n'});
	expect(existsSync(join(env['HOME']!, 's'))).toBe(false);
	expect(await run(['run', '-d', '--name', 'ended', '--', 'echo', 'here'], env)).toMatchObject({code: 0});
	expect(await run(['wait', 'ended'], env)).toMatchObject({code: 0});
	expect(await run(['run', '-d', '--name', 'busy', '--', 'sleep', '1000'], env)).toMatchObject({code: 0});
	const [{pid}] = JSON.parse((await run(['ps', '--json'], env)).stdout) as [{pid: number}];
	const refused = await run(['daemon', 'stop'], env);
	expect(refused).toMatchObject({code: 1, stdout: ''});
	expect(refused.stderr).toContain('would end with it: busy\n');
	expect(isAlive(pid)).toBe(true);
	const stopped = await run(['daemon', 'stop', '--force'], env);
	expect([stopped.code, stopped.stderr]).toEqual([0, '']);
	expect(stopped.stdout).toMatch(/^stopped the local daemon, process \d+\n$/);
	await untilDead(pid);
	// A list of what runs needs no daemon; one of what has ended does.
	expect(await run(['ps', '--json'], env)).toMatchObject({code: 0, stdout: '[]\n'});
	expect(await run(['daemon', 'stop'], env)).toMatchObject({stdout: 'the local daemon does not run\n'});
	expect(await run(['logs', 'ended'], env)).toMatchObject({code: 0, stdout: 'here\n'});
});
