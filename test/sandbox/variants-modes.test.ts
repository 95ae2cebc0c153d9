import {chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {expect, test} from 'vitest';
import {describeEnforcers, notWithLandlock} from '../helpers/enforcers.js';
import {at, policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

const NO_MODES = 'Landlock alone lets no mode be changed';
const SET_ID_BITS = 0o6000;

/** Runs a script in a writable directory, with the network, under which most system calls are allowed. */
async function run(sandboxEnforcer: 'bubblewrap' | 'namespaces' | 'landlock', work: string, script: string) {
	const client = await TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
	const sandbox = policy([root('read'), at(work, 'write')], {network: 'enabled'});
	await client.sh('p', script, {sandbox, cwd: pathToFileURL(work).href});
	return client.done('p');
}

const perl = (code: string) => `perl -e '${code}'`;

/** Ways to make a program that runs as its owner or group. Numbers of calls are those of x64. */
const WAYS: readonly [name: string, script: string, isOfX64?: true][] = [
	['chmod', 'cp /bin/sh f; chmod u+s f'],
	['chmod of the group', 'cp /bin/sh f; chmod g+s f'],
	['install', 'install -m 4755 /bin/sh f'],
	['fchmod', perl('open(my $f, ">", "f"); chmod(04755, $f) or exit 1')],
	['open', perl('use Fcntl; sysopen(my $f, "f", O_CREAT | O_RDWR, 06755) or exit 1')],
	[
		'open without a name',
		perl(
			'my ($d, $t) = (".", "f"); my $n = syscall(2, $d, 020200002, 04755); exit 1 if $n < 0; my $p = "/proc/self/fd/$n"; syscall(265, -100, $p, -100, $t, 0x400) == 0 or exit 1',
		),
		true,
	],
	['creat', perl('my $p = "f"; syscall(85, $p, 04755) >= 0 or exit 1'), true],
	['mknod', perl('my $p = "f"; syscall(133, $p, 0104755, 0) == 0 or exit 1'), true],
	['fchmodat2', perl('open(my $f, ">", "f"); my $p = "f"; syscall(452, -100, $p, 04755, 0) == 0 or exit 1'), true],
	[
		'openat2',
		perl('my ($p, $h) = ("f", pack("QQQ", 0102, 04755, 0)); syscall(437, -100, $p, $h, 24) >= 0 or exit 1'),
		true,
	],
	['io_uring', perl('my $p = "\\0" x 120; syscall(425, 1, $p) >= 0 or exit 1; open(my $f, ">", "f")'), true],
];

describeEnforcers(
	'a sandboxed command leaves no program that runs as its owner',
	enforcer => {
		test.each(WAYS)('by %s', async (_name, script, isOfX64) => {
			if (isOfX64 && process.arch !== 'x64') return;
			const work = scratchDirectory();
			const {exitCode} = await run(enforcer, work, script);
			expect(exitCode).not.toBe(0);
			const modes = readdirSync(work).map(name => statSync(join(work, name)).mode & SET_ID_BITS);
			expect(modes.every(mode => mode === 0)).toBe(true);
		});

		test('and copies a tree whose directories pass their group on', async () => {
			const work = scratchDirectory();
			mkdirSync(join(work, 'from/deep'), {recursive: true});
			for (const name of ['from', 'from/deep']) chmodSync(join(work, name), 0o2755);
			writeFileSync(join(work, 'from/deep/file'), 'x');
			expect(await run(enforcer, work, 'cp -r from to')).toMatchObject({exitCode: 0, stderr: ''});
			expect(existsSync(join(work, 'to/deep/file'))).toBe(true);
		});

		test('and packs, unpacks and commits files as before', notWithLandlock(enforcer, NO_MODES), async () => {
			const work = scratchDirectory();
			writeFileSync(join(work, 'program'), '#!/bin/sh\n', {mode: 0o755});
			const git = 'git -c user.name=x -c user.email=x@example.org';
			const script = `tar cf a.tar program && mkdir out && tar xpf a.tar -C out && out/program &&
				mkdir repo && cd repo && git init -q . && cp ../program . && git add . && ${git} commit -qm x && git fsck`;
			expect(await run(enforcer, work, script)).toMatchObject({exitCode: 0});
			expect(statSync(join(work, 'out/program')).mode & 0o777).toBe(0o755);
		});
	},
	{programs: ['perl', 'tar', 'git']},
);

describeEnforcers(
	'a read-only command',
	enforcer => {
		test('takes no lease, which would block writers on the host', async () => {
			const work = scratchDirectory();
			writeFileSync(join(work, 'file'), 'x');
			const client = await TestClient.overMemory(execServer({sandboxEnforcer: enforcer})).initialize();
			const script = perl(`open(my $f, "<", "${work}/file"); fcntl($f, 1024, 0) or exit 7`);
			await client.sh('free', script);
			expect((await client.done('free')).exitCode).toBe(0);
			await client.sh('p', script, {sandbox: policy([root('read')])});
			expect((await client.done('p')).exitCode).toBe(7);
		});
	},
	{programs: ['perl']},
);
