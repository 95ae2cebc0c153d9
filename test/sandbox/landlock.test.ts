import {execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {expect, onTestFinished, test} from 'vitest';
import {resolveGrants} from '../../src/sandbox/native/landlock-grants.js';
import type {Mount} from '../../src/sandbox/plan.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {needsRoot, unless} from '../helpers/needs.js';
import {at, policy, root, special, workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const joined = (hiddenPaths: readonly string[] = []) =>
	TestClient.overMemory(execServer({sandboxEnforcer: 'landlock', hiddenPaths})).initialize();

const grants = (...mounts: Mount[]) => resolveGrants({mounts, network: 'none'});

describeEnforcers(
	'a policy Landlock cannot enforce is refused with the reason',
	() => {
		test.each<[string, (work: string) => object, RegExp]>([
			[
				'a protected directory',
				work => policy([root('read'), at(work, 'write'), at(`${work}/.git`, 'write'), at(`${work}/a`, 'read')]),
				/\/a` has to be kept read-only below a writable directory, which Landlock cannot do/,
			],
			['metadata nobody names', work => policy([root('read'), at(work, 'write')]), /\/\.git` has to be kept read-only/],
			['metadata of a workspace', work => workspacePolicy(work), /\/\.git` has to be kept read-only/],
			[
				'a hidden directory',
				work => policy([root('read'), at(`${work}/a`, 'deny')]),
				/cannot hide the directory `.*\/a` below a readable one/,
			],
			[
				'a hidden file that could be replaced',
				work => policy([root('read'), at(work, 'write'), at(`${work}/.git`, 'write'), at(`${work}/file`, 'deny')]),
				/file` has to be hidden below a writable/,
			],
		])('%s', async (_name, sandbox, reason) => {
			const work = scratchDirectory();
			for (const name of ['a', '.git']) mkdirSync(join(work, name));
			writeFileSync(join(work, 'file'), 'x');
			const client = await joined();
			await expect(client.sh('p', 'true', {sandbox: sandbox(work)})).rejects.toMatchObject({
				code: -32602,
				message: expect.stringMatching(reason) as unknown,
			});
		});

		test('all files of root, and so the settings of the kernel', needsRoot(), () => {
			expect(() => grants({kind: 'write', path: '/'})).toThrow(/settings of the kernel/);
		});
	},
	{only: ['landlock']},
);

describeEnforcers(
	'under Landlock alone',
	() => {
		test('a view without the root shows nothing else', async () => {
			const [work, outside] = [scratchDirectory(), scratchDirectory()];
			writeFileSync(join(outside, 'file'), 'secret');
			const sandbox = policy([special({kind: 'minimal'}, 'read'), at(work, 'write')]);
			const client = await joined();
			const script = `echo in > ${work}/new; cat ${outside}/file || ls ${outside} || ls / || echo denied`;
			await client.sh('p', script, {sandbox, cwd: pathToFileURL(work).href});
			expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: 'denied\n'});
			expect(readFileSync(join(work, 'new'), 'utf8')).toBe('in\n');
		});

		test('files of the server are not read, and those beside them are', async () => {
			const [work, own] = [scratchDirectory(), scratchDirectory()];
			for (const name of ['token', 'other']) writeFileSync(join(own, name), name);
			const client = await joined([join(own, 'token')]);
			const script = `cat ${own}/other; cat ${own}/token; echo x > ${own}/token; cat /etc/passwd > /dev/null && echo ok`;
			await client.sh('p', script, {sandbox: policy([root('read'), at(work, 'write')])});
			expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: 'otherok\n'});
			expect(readFileSync(join(own, 'token'), 'utf8')).toBe('token');
		});

		test.each<[string, (file: string) => string]>([
			['mode', file => `chmod 600 ${file}`],
			['mode by a descriptor', file => `perl -e 'open(my $f, "<", "${file}"); chmod(0600, $f) or exit 1'`],
			['times', file => `touch -d 2001-01-01 ${file}`],
			['owner', file => `chown ${process.getuid!()} ${file}`],
			[
				'extended attributes',
				file =>
					`perl -e 'my ($f, $n, $v) = ("${file}", "user.x", "y"); exit(syscall(188, $f, $n, $v, 1, 0) == 0 ? 0 : 1)'`,
			],
		])('the %s of a file that is only to be read stays', async (_name, script) => {
			const [work, outside] = [scratchDirectory(), scratchDirectory()];
			const file = join(outside, 'file');
			writeFileSync(file, 'x', {mode: 0o644});
			writeFileSync(join(work, 'own'), 'x');
			const before = statSync(file);
			const client = await joined();
			// All of them are possible without a sandbox.
			await client.sh('free', script(join(work, 'own')), {cwd: pathToFileURL(work).href});
			expect((await client.done('free')).exitCode).toBe(0);
			await client.sh('p', script(file), {sandbox: policy([root('read'), at(work, 'write')])});
			expect((await client.done('p')).exitCode).not.toBe(0);
			expect(statSync(file)).toMatchObject({mode: before.mode, mtimeMs: before.mtimeMs, ctimeMs: before.ctimeMs});
		});

		test.each([
			['UDP', 'socket(my $s, 2, 2, 0)'],
			['TCP', 'socket(my $s, 2, 1, 0)'],
			['netlink', 'socket(my $s, 16, 3, 0)'],
			['a socket file', 'socket(my $s, 1, 1, 0)'],
			['packets', 'socket(my $s, 17, 3, 0)'],
		])('there is no socket for %s without a network', async (_name, call) => {
			const client = await joined();
			await client.sh('p', `perl -e 'exit(${call} ? 0 : $! == 1 ? 7 : 8)'`, {sandbox: policy([root('read')])});
			expect((await client.done('p')).exitCode).toBe(7);
		});

		test.each([
			['the limits of the server', `prlimit --pid ${process.pid} --nofile=10000:10000`],
			['shared memory of System V', 'ipcmk -M 4096'],
			['a message queue', 'ipcmk -Q'],
			['a namespace of users', 'unshare -U true'],
			['a namespace of mounts', 'unshare -m true'],
			['the processors of the server', `taskset -p 1 ${process.pid}`],
			['the priority of the server', `renice -n 19 -p ${process.pid}`],
			['the I/O priority of the server', `ionice -c 3 -p ${process.pid}`],
			['the generation of a file', `perl -e 'open(my $f, "<", "/etc/passwd"); ioctl($f, 0x40087602, 0) or exit 7'`],
		])('nobody reaches %s', async (_name, script) => {
			const client = await joined();
			await client.sh('p', script, {sandbox: policy([root('read')])});
			expect(await client.done('p')).not.toMatchObject({exitCode: 0});
		});

		test('it changes its own priority and processors', async () => {
			const client = await joined();
			await client.sh('p', 'nice -n 19 ionice -c 3 taskset 1 nice', {sandbox: policy([root('read')])});
			expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: '19\n'});
		});

		test('names in a directory that is not shown cannot be watched', async () => {
			const [work, outside] = [scratchDirectory(), scratchDirectory()];
			const watch = `perl -e 'my $p = $ARGV[0]; my $n = syscall(253); exit(syscall(254, $n, $p, 0xfff) >= 0 ? 0 : 7)' `;
			const client = await joined();
			const sandbox = policy([special({kind: 'minimal'}, 'read'), at(work, 'write')]);
			await client.sh('p', watch + outside, {sandbox, cwd: pathToFileURL(work).href});
			expect(await client.done('p')).toMatchObject({exitCode: 7});
			await client.sh('q', watch + outside, {sandbox: policy([root('read')])});
			expect(await client.done('q')).toMatchObject({exitCode: 0});
		});

		test('a network lets it connect, and still ends what it leaves running', async () => {
			const server = createServer(peer => peer.end('hi')).listen(0, '127.0.0.1');
			onTestFinished(() => void server.close());
			await new Promise(resolve => server.once('listening', resolve));
			const {port} = server.address() as {port: number};
			const work = scratchDirectory();
			const script = `require('net').connect(${port}, '127.0.0.1').pipe(process.stdout)`;
			const client = await joined();
			const start = {sandbox: workspacePolicy(work, {network: 'enabled'})};
			await client.start('p', [process.execPath, '-e', script], start);
			expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: 'hi'});
			const mark = `1000.${process.pid}${Date.now()}`;
			await client.sh('q', `for i in 1 2 3; do setsid -f sh -c "sleep ${mark}; :"; done; exit 4`, start);
			expect(await client.done('q')).toMatchObject({exitCode: 4});
			// All were ended before the end of the process was told.
			expect(() => execFileSync('pgrep', ['-f', mark])).toThrow(/Command failed/);
		});
	},
	{only: ['landlock'], programs: ['perl', 'prlimit', 'ipcmk', 'unshare', 'pgrep', 'taskset', 'renice', 'ionice']},
);

test(
	'everything beside a file that is to be hidden is named',
	unless(process.platform === 'linux' ? undefined : 'it is of Linux'),
	() => {
		const directory = scratchDirectory();
		mkdirSync(join(directory, 'sub'));
		for (const name of ['a', 'b', 'sub/c', 'sub/d']) writeFileSync(join(directory, name), '');
		const hidden: Mount = {kind: 'hidden', path: join(directory, 'sub/c'), fileType: 'file'};
		const paths = grants({kind: 'read', path: directory}, hidden).map(({path}) => path);
		const below = paths.filter(path => path.startsWith(directory)).map(path => path.slice(directory.length));
		expect(below.sort()).toEqual(['', '/a', '/b', '/sub/d']);
	},
);
