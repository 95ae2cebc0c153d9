import {writeFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import {run} from '../helpers/command.js';
import {ProcessServer} from '../helpers/process-server.js';
import {isAlive} from '../helpers/processes.js';

test('a detached command is told by its id alone, and lives on without its starter', async () => {
	const server = await ProcessServer.start();
	const {code, stdout, stderr} = await server.longarm('run', '-d', '--name', 'job', '--', 'sleep', '1000');
	expect([code, stderr]).toEqual([0, '']);
	expect(stdout).toMatch(/^[0-9a-f]{12}\n$/);
	const [listed] = await server.list();
	expect(listed).toMatchObject({id: stdout.trim(), name: 'job', state: 'running', exitCode: null, durable: false});
	expect(isAlive(listed!['pid'] as number)).toBe(true);
});

test('a detached command has an empty input, its own variables and directory, and its exit code is asked for', async () => {
	const server = await ProcessServer.start();
	const script = 'cat; echo "$WORD in $PWD"; exit 5';
	const id = await server.detached('--env', 'WORD=hello', '--cwd', '/usr', '--', 'sh', '-c', script);
	expect(await server.longarm('wait', id, '--exit')).toMatchObject({code: 5, stdout: 'ended with code 5\n'});
	expect(await server.longarm('logs', id)).toMatchObject({code: 0, stdout: 'hello in /usr\n', stderr: ''});
});

test('with --json the id comes with the name', async () => {
	const server = await ProcessServer.start();
	const {stdout} = await server.longarm('run', '-d', '--json', '--name', 'job', '--', 'true');
	expect(JSON.parse(stdout)).toEqual({id: expect.stringMatching(/^[0-9a-f]{12}$/) as string, name: 'job'});
});

test('a command that cannot be started has the exit codes of a shell', async () => {
	const server = await ProcessServer.start();
	expect(await server.longarm('run', '-d', '--', 'no-such-program')).toMatchObject({code: 127, stdout: ''});
	expect(await server.longarm('run', '-d', '--', '/etc/passwd')).toMatchObject({code: 126, stdout: ''});
	expect(await server.longarm('run', '-d', '--cwd', '/no/such', '--', 'true')).toMatchObject({code: 125, stdout: ''});
});

test('a name is free again when its process has ended, and not before', async () => {
	const server = await ProcessServer.start();
	const id = await server.detached('--name', 'one', '--', 'sleep', '1000');
	const {code, stdout, stderr} = await server.longarm('run', '-d', '--name', 'one', '--', 'true');
	expect([code, stdout]).toEqual([125, '']);
	expect(stderr).toContain(`the name one is that of process ${id}, which has not ended`);
	await server.longarm('stop', 'one');
	expect(await server.longarm('run', '-d', '--name', 'one', '--', 'true')).toMatchObject({code: 0});
});

test('a command that is not detached can be found by its name meanwhile', async () => {
	const server = await ProcessServer.start();
	const command = server.command(
		'run',
		'--name',
		'here',
		'--label',
		'kind=test',
		'--',
		'sh',
		'-c',
		'echo on; read line',
	);
	await command.until(() => command.stdout.includes('on'), 'its output');
	expect(await server.list('--label', 'kind=test')).toMatchObject([{name: 'here', labels: {kind: 'test'}}]);
	expect(await server.list('--label', 'kind=other')).toEqual([]);
	expect(await server.longarm('stop', 'here')).toMatchObject({code: 0});
	expect(await command.ended).toMatchObject({code: 143});
});

test('a command that is kept is found again after a crash of its server, with its output and its end', async () => {
	const first = await ProcessServer.start();
	const flag = `${first.state}-flag`;
	const script = 'echo before; while ! [ -e "$0" ]; do sleep 0.05; done; echo after; exit 7';
	const {stdout} = await first.longarm('run', '--keep', '--name', 'kept', '--', 'sh', '-c', script, flag);
	await first.longarm('wait', 'kept', '--text', 'before');
	first.server.child.kill('SIGKILL');
	await first.server.ended;
	const next = await ProcessServer.start([], {}, first.state);
	expect(await next.list()).toMatchObject([{id: stdout.trim(), name: 'kept', state: 'running', durable: true}]);
	writeFileSync(flag, '');
	expect(await next.longarm('wait', 'kept')).toMatchObject({code: 7});
	expect(await next.longarm('logs', 'kept')).toMatchObject({code: 0, stdout: 'before\nafter\n', stderr: ''});
});

test.each<[string[], string]>([
	[['--name', 'no spaces'], '--name no spaces: expected up to 64 letters'],
	[['--label', 'nothing'], '--label nothing: expected KEY=VALUE'],
	[['-d', '--timeout', '5s'], '--timeout and --detach exclude each other'],
])('run %j is misused: nothing is started', async (options, message) => {
	const {code, stdout, stderr} = await run(['run', '-e', 'ws://127.0.0.1:1', ...options, '--', 'true']);
	expect([code, stdout]).toEqual([125, '']);
	expect(stderr).toContain(`error: ${message}`);
});
