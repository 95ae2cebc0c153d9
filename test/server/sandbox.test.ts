import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {expect, test, vi} from 'vitest';
import type {EnforcerName} from '../../src/sandbox/enforcer.js';
import {stopClock} from '../helpers/clock.js';
import {describeEnforcers, notWithLandlock, REFUSES_PROTECTION} from '../helpers/enforcers.js';
import {eventually} from '../helpers/processes.js';
import {at, glob, policy, root, special, workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {isInForeground, listRunningWith} from '../helpers/subreaper.js';
import {TestClient} from '../helpers/test-client.js';

const joined = (sandboxEnforcer: EnforcerName) => TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
const inside = (directory: string, more: object = {}) => ({
	sandbox: workspacePolicy(directory),
	cwd: pathToFileURL(directory).href,
	...more,
});
/** An argument that finds the processes of a test. */
const unique = () => `1000.${process.pid}${Math.floor(performance.now() * 1000)}`;

describeEnforcers('a process in a sandbox', enforcer => {
	test('writes where it may, in its own directory', async () => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		const started = await client.sh('p', 'pwd; echo in > file && cat file', inside(directory));
		expect(started).toEqual({processId: 'p', sandboxType: 'linuxSeccomp', sandboxEnforcer: enforcer});
		expect(await client.done('p')).toEqual({exitCode: 0, stdout: `${directory}\nin\n`, stderr: '', pty: ''});
		expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('in\n');
	});

	test.each([
		['exit 0', 0],
		['exit 7', 7],
		['kill -9 $$', 137],
		['kill -TERM $$', 143],
	])('ends with its own code: %s', async (script, exitCode) => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		await client.sh('p', script, inside(directory));
		expect(await client.done('p')).toMatchObject({exitCode});
		await client.sh('t', script, inside(directory, {tty: true}));
		expect(await client.done('t')).toMatchObject({exitCode});
	});

	test('sees its arguments and the name it was given', async () => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		const script = String.raw`tr '\0' '|' < /proc/self/cmdline`;
		await client.start('p', ['sh', '-c', `exec ${script}`, 'a b', ''], inside(directory));
		expect((await client.done('p')).stdout).toBe(`tr|\\0|||`);
		for (const tty of [false, true]) {
			const id = `named-${tty}`;
			await client.start(id, ['/bin/sleep', '1000'], inside(directory, {arg0: 'other name', tty}));
			const {pid} = (await client.call<{processes: {processId: string; pid: number}[]}>('process/list')).processes.find(
				({processId}) => processId === id,
			)!;
			expect(pid).toBeGreaterThan(0);
			await eventually(() => cmdlines().includes('other name\x001000\x00'));
			await client.call('process/terminate', {processId: id});
			expect(await client.done(id)).toMatchObject({exitCode: 137});
		}
	});

	test.each([false, true])('holds its standard streams and nothing else of the server (terminal: %s)', async tty => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		const script = 'n=3; while [ $n -lt 300 ]; do [ ! -e /proc/$$/fd/$n ] || echo $n; n=$((n + 1)); done';
		await client.sh('p', script, inside(directory, {tty}));
		expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: '', pty: ''});
	});

	test('reads its input and keeps its streams apart', async () => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		await client.sh('p', 'cat; echo err >&2', inside(directory, {pipeStdin: true}));
		await client.write('p', 'hello\n');
		await client.call('process/closeStdin', {processId: 'p'});
		expect(await client.done('p')).toEqual({exitCode: 0, stdout: 'hello\n', stderr: 'err\n', pty: ''});
	});

	test('has a terminal of the size that was asked for, and hears Ctrl-C and a resize', async () => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		const script = `stty size; trap 'echo interrupted; stty size; exit 4' INT; echo ready; while :; do sleep 0.05; done`;
		await client.sh('t', script, inside(directory, {tty: true, io: {pty: {cols: 101, rows: 31}}}));
		await client.shows('t', 'ready');
		await client.call('process/resize', {processId: 't', rows: 20, cols: 90});
		await client.write('t', '\x03');
		expect(await client.done('t')).toMatchObject({exitCode: 4, pty: '31 101\r\nready\r\n^Cinterrupted\r\n20 90\r\n'});
	});

	test('has job control on its terminal', async () => {
		const [client, directory, mark] = [await joined(enforcer), scratchDirectory(), unique()];
		const env = {PATH: process.env['PATH'], PS1: 'prompt> '};
		await client.start('t', ['bash', '--norc', '-i'], inside(directory, {tty: true, env}));
		await client.shows('t', 'prompt> ');
		await client.write('t', `sleep ${mark}\n`);
		await eventually(() => listRunningWith(mark).some(isInForeground));
		await client.write('t', '\x1a');
		await client.until(() => /Stopped.*\r\nprompt> $/.test(client.output('t').toString()));
		await client.write('t', 'fg\n');
		await client.shows('t', `fg\r\nsleep ${mark}\r\n`);
		await eventually(() => listRunningWith(mark).some(isInForeground));
		await client.write('t', '\x03');
		await client.until(() => client.output('t').toString().endsWith('^C\r\nprompt> '));
		await client.write('t', 'exit 5\n');
		expect((await client.done('t')).exitCode).toBe(5);
	});

	test.each([false, true])('hears signals, with its group, and may go on (terminal: %s)', async tty => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		const script = `trap 'echo one' INT; trap 'echo two; exit 6' TERM; echo ready; while :; do sleep 0.05; done`;
		await client.sh('p', script, inside(directory, {tty}));
		await client.shows('p', 'ready');
		await client.call('process/signal', {processId: 'p', signal: 'interrupt'});
		await client.shows('p', 'one');
		await client.call('process/terminate', {processId: 'p', mode: {graceful: {timeoutMs: 10_000}}});
		expect((await client.done('p')).exitCode).toBe(6);
	});

	test.each([false, true])('leaves nothing when it is terminated (terminal: %s)', async tty => {
		const [client, directory, mark] = [await joined(enforcer), scratchDirectory(), unique()];
		const script = `setsid -f sleep ${mark}; (setsid sh -c "sleep ${mark}; :" &); trap '' TERM INT HUP; echo ready; sleep ${mark}; :`;
		await client.sh('p', script, inside(directory, {tty}));
		await client.shows('p', 'ready');
		await eventually(() => listRunningWith(mark).length >= 3);
		expect(await client.call('process/terminate', {processId: 'p'})).toEqual({running: true});
		expect((await client.done('p')).exitCode).toBe(137);
		await eventually(() => listRunningWith(mark).length === 0);
	});

	test('leaves nothing when it ends by itself', async () => {
		const [client, directory, mark] = [await joined(enforcer), scratchDirectory(), unique()];
		await client.sh('p', `setsid -f sleep ${mark}; sleep ${mark} & exit 3`, inside(directory));
		expect((await client.done('p')).exitCode).toBe(3);
		await eventually(() => listRunningWith(mark).length === 0);
	});

	test('has the limits of every child', async () => {
		const server = execServer({sandboxEnforcer: enforcer, childLimits: {openFiles: 77}});
		const [client, directory] = [await TestClient.overMemory(server).initialize(), scratchDirectory()];
		for (const tty of [false, true]) {
			await client.sh(`p-${tty}`, 'ulimit -n', inside(directory, {tty}));
			expect((await client.done(`p-${tty}`))[tty ? 'pty' : 'stdout'].trim()).toBe('77');
		}
	});

	test('is ended by its time limit', async () => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		stopClock();
		await client.sh('p', 'echo ready; sleep 1000', inside(directory, {timeoutMs: 100}));
		await client.shows('p', 'ready');
		vi.advanceTimersByTime(100);
		expect(await client.event('p', 'process/exited')).toMatchObject({exitCode: 143, reason: 'timeout'});
	});

	test(
		'reaches itself over the loopback, and nobody else',
		notWithLandlock(enforcer, 'without a network Landlock has no sockets at all'),
		async () => {
			const [client, directory] = [await joined(enforcer), scratchDirectory()];
			const script = `const s = require('net').createServer(p => p.end('hi')).listen(0, '127.0.0.1', () =>
			require('net').connect(s.address().port, '127.0.0.1').on('data', d => { console.log(String(d)); process.exit(0) }))`;
			await client.start('p', [process.execPath, '-e', script], inside(directory));
			expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: 'hi\n'});
		},
	);

	test(
		'finds nothing but what the policy shows when the root is not in it',
		notWithLandlock(enforcer, 'Landlock hides contents, and not names'),
		async () => {
			const [client, directory] = [await joined(enforcer), scratchDirectory()];
			const sandbox = policy([special({kind: 'minimal'}, 'read'), at(directory, 'write')]);
			const name = basename(directory);
			const script = `echo x > new && ls /; ls /home; echo y > /${name}; echo z > /tmp/${name}.new`;
			await client.sh('p', script, {sandbox, cwd: pathToFileURL(directory).href});
			const {stdout, stderr} = await client.done('p');
			expect(stdout.split('\n')).toEqual(expect.arrayContaining(['bin', 'dev', 'etc', 'proc', 'tmp', 'usr']));
			expect(stdout.split('\n')).not.toEqual(expect.arrayContaining(['home']));
			expect(stderr).toContain('/home');
			expect(existsSync(join(directory, 'new'))).toBe(true);
			expect(existsSync(`/${name}`) || existsSync(`/tmp/${name}.new`)).toBe(false);
		},
	);

	test(
		'may not change what decides what other programs run, unless the policy names it',
		notWithLandlock(enforcer, REFUSES_PROTECTION),
		async () => {
			const [client, directory] = [await joined(enforcer), scratchDirectory()];
			for (const name of ['repo/.git/hooks', 'repo/.codex', 'repo/.agents', 'tree', 'git/hooks'])
				mkdirSync(join(directory, name), {recursive: true});
			writeFileSync(join(directory, 'tree/.git'), `gitdir: ${directory}/git\n`);
			const places = ['repo/.git/hooks/x', 'repo/.codex/x', 'repo/.agents/x', 'git/hooks/x', 'tree/.git'];
			const script = `cd ${directory}; for each in ${places.join(' ')}; do echo x > $each && echo $each; done; mv repo/.git repo/old && echo moved`;
			const roots = ['repo', 'tree', 'git'].map(name => at(join(directory, name), 'write'));
			// The directory of Git is named there, and so is not protected.
			const named = [...roots, at(join(directory, 'repo/.git'), 'write')];
			const below = [at(directory, 'write'), ...roots.slice(0, 2)];
			for (const [id, entries, written] of [
				['roots', roots, ['git/hooks/x']],
				['below', below, []],
				['named', named, ['repo/.git/hooks/x', 'git/hooks/x', 'moved']],
			] as const) {
				await client.sh(id, script, {sandbox: policy([root('read'), ...entries])});
				const {stdout} = await client.done(id);
				expect(stdout.split('\n').filter(Boolean)).toEqual(written);
			}
		},
	);

	test(
		'passes through a hidden directory to what it may write below it',
		notWithLandlock(enforcer, REFUSES_PROTECTION),
		async () => {
			const [client, directory] = [await joined(enforcer), scratchDirectory()];
			mkdirSync(join(directory, 'hidden/open'), {recursive: true});
			const entries = [
				root('read'),
				at(join(directory, 'hidden'), 'deny'),
				at(join(directory, 'hidden/open'), 'write'),
			];
			const script = `cd ${directory}/hidden/open && echo x > new && ! ls .. && ! mkdir ../other`;
			await client.sh('p', script, {sandbox: policy(entries)});
			expect((await client.done('p')).exitCode).toBe(0);
			expect(existsSync(join(directory, 'hidden/open/new'))).toBe(true);
		},
	);
});

/** Names that take a matcher with backtracking longer than anyone waits. */
function hostile(): {directory: string; sandbox: object} {
	const directory = scratchDirectory();
	for (let each = 0; each < 20; each++) writeFileSync(join(directory, `${'a'.repeat(200)}${each}`), '');
	writeFileSync(join(directory, 'aaaaaaaaab'), 'hidden');
	return {directory, sandbox: policy([root('read'), glob(`${directory}/${'*a'.repeat(9)}*b`, 'deny')])};
}

describeEnforcers('a start whose policy has globs', enforcer => {
	test('hides what matches, whatever the pattern, and answers others meanwhile', async () => {
		const {directory, sandbox} = hostile();
		const client = await joined(enforcer);
		const replies: string[] = [];
		const note = (what: string) => () => void replies.push(what);
		const start = client.sh('p', `cat ${directory}/aaaaaaaaab`, {sandbox}).then(note('start'));
		await Promise.all([start, client.call('environment/info').then(note('info'))]);
		expect(replies).toEqual(['info', 'start']);
		expect(await client.done('p')).toMatchObject({exitCode: 1, stdout: ''});
	});

	test('is known to the requests behind it', async () => {
		const {sandbox} = hostile();
		const client = await joined(enforcer);
		const start = {sandbox, pipeStdin: true};
		const mark = unique();
		const first = client.sh('p', 'cat', start);
		const second = client.sh('p', 'true', start);
		const ended = client.sh('q', `sleep ${mark}`, start);
		const behind = [
			client.write('p', 'hello'),
			client.call('process/closeStdin', {processId: 'p'}),
			client.call('process/terminate', {processId: 'q'}),
		];
		// Ended before or after it began to run.
		await Promise.allSettled([first, second, ended]);
		await expect(second).rejects.toThrow('process p already exists');
		expect(await Promise.all(behind)).toEqual([{status: 'accepted'}, {}, {running: true}]);
		expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: 'hello'});
		await eventually(() => listRunningWith(mark).length === 0);
	});

	test('is refused where the pattern is none or costs too much, and frees its id', async () => {
		const client = await joined(enforcer);
		const start = (pattern: string) => client.sh('p', 'true', {sandbox: policy([root('read'), glob(pattern, 'deny')])});
		await expect(start('/tmp/{a')).rejects.toMatchObject(invalidParams('a brace is not closed'));
		await expect(start(`/tmp/*${'x'.repeat(2000)}`)).rejects.toMatchObject(invalidParams('a pattern is too long'));
		await client.sh('p', 'true');
		expect((await client.done('p')).exitCode).toBe(0);
	});
});

describeEnforcers('the verdict on a sandboxed process', enforcer => {
	test.each([
		['echo x > /etc/new', true],
		['echo "Operation not permitted" >&2; exit 1', true],
		['echo x > /etc/new; exit 0', false],
		['exit 1', false],
		['kill -SYS $$', true],
	])('%s: denied %s', async (script, sandboxDenied) => {
		const [client, directory] = [await joined(enforcer), scratchDirectory()];
		for (const tty of [false, true]) {
			await client.sh(`p-${tty}`, script, inside(directory, {tty}));
			await client.done(`p-${tty}`);
			expect(await client.event(`p-${tty}`, 'process/exited')).toMatchObject({sandboxDenied});
			expect(await client.call('process/read', {processId: `p-${tty}`})).toMatchObject({sandboxDenied});
		}
	});

	test('is never made without a sandbox', async () => {
		const client = await joined(enforcer);
		await client.sh('p', 'echo "permission denied"; exit 1');
		expect(await client.event('p', 'process/exited')).toMatchObject({sandboxDenied: false});
		const disabled = {permissions: {type: 'disabled'}, windowsSandboxLevel: 'disabled'};
		const started = await client.sh('q', 'echo "permission denied"; exit 1', {sandbox: disabled});
		expect(started).toEqual({processId: 'q', sandboxType: 'none'});
		expect(await client.event('q', 'process/exited')).toMatchObject({sandboxDenied: false});
	});
});

const invalidParams = (message: string) => ({code: -32602, message: expect.stringContaining(message) as unknown});

describeEnforcers('a start that cannot be sandboxed as asked is refused', enforcer => {
	test('when the policy cannot be enforced', async () => {
		const client = await joined(enforcer);
		const sandbox = policy([special({kind: 'unknown', path: ':new'}, 'read')]);
		await expect(client.sh('p', 'true', {sandbox})).rejects.toMatchObject(
			invalidParams('sandbox intent cannot be enforced on this executor: it does not know the special path'),
		);
	});

	test('when a managed network has to be enforced', async () => {
		const client = await joined(enforcer);
		const start = client.sh('p', 'true', {sandbox: policy([root('read')]), enforceManagedNetwork: true});
		await expect(start).rejects.toMatchObject(invalidParams('it has no managed network'));
	});

	test('when the program or the directory is not there', async () => {
		const client = await joined(enforcer);
		const sandbox = policy([root('read')]);
		const missing = {code: -32603, message: 'No such file or directory (os error 2)'};
		const noProgram = {...missing, data: {code: 'PROGRAM_NOT_FOUND'}};
		for (const tty of [false, true]) {
			await expect(client.start('p', ['no-such-program'], {sandbox, tty})).rejects.toMatchObject(noProgram);
			await expect(client.start('p', ['/no/such/program'], {sandbox, tty})).rejects.toMatchObject(noProgram);
			await expect(client.start('p', ['/etc'], {sandbox, tty})).rejects.toMatchObject({
				message: 'Permission denied (os error 13)',
			});
			await expect(client.sh('p', 'true', {sandbox, tty, cwd: 'file:///no/such'})).rejects.toMatchObject({
				...missing,
				data: {code: 'CWD_UNUSABLE', context: {cwd: '/no/such'}},
			});
		}
	});
});

function cmdlines(): string[] {
	return listRunningWith('1000').map(pid => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
}
