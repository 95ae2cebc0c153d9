import {existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {createServer, type Server} from 'node:net';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import type {EnforcerName} from '../../src/sandbox/enforcer.js';
import {describeEnforcers, REFUSES_PROTECTION} from '../helpers/enforcers.js';
import {hasIpv6, isInstalled, NO_IPV6} from '../helpers/needs.js';
import {isAlive} from '../helpers/processes.js';
import {at, policy, root, workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {spawnUnrelated} from '../helpers/subreaper.js';
import {TestClient} from '../helpers/test-client.js';

interface Scene {
	/** May be written to. */
	readonly work: string;
	/** May be written to as well. */
	readonly other: string;
	/** May not. */
	readonly outside: string;
	/** May not even be read. */
	readonly secret: string;
	/** A process of the host's. */
	readonly victim: number;
	readonly port: number;
	readonly port6: number;
	readonly socket: string;
	readonly abstract: string;
	/** A file in the shared memory of the host. */
	readonly shared: string;
}

const NOWHERE: Scene = {
	work: '',
	other: '',
	outside: '',
	secret: '',
	victim: 0,
	port: 0,
	port6: 0,
	socket: '',
	abstract: '',
	shared: '',
};

interface Attempt {
	readonly name: string;
	/** Succeeds when the attempt did. */
	readonly script: (scene: Scene) => string;
	/** The policy under which it has to succeed, which proves the attempt; without one there is none. */
	readonly allowed?: (scene: Scene) => object | null;
	/** True if it makes system calls by their numbers on x64. */
	readonly isOfX64?: boolean;
	/** Reason why it is not tried under Landlock alone. */
	readonly notWithLandlock?: string;
	/** Reason why Landlock alone does not let it succeed where the policy allows it. */
	readonly neverWithLandlock?: string;
}

const mayWriteOutside = (scene: Scene) => policy([root('read'), at(scene.work, 'write'), at(scene.outside, 'write')]);
const mayReadAll = () => policy([root('read')]);
const hasNetwork = (scene: Scene) => workspacePolicy(scene.work, {network: 'enabled'});
const hasNoSandbox = () => null;

/** Path to be renamed, its new name, and the new path of the directory that holds what is protected. */
type Paths = (scene: Scene) => readonly [from: string, to: string, parent: string];

/** Renames above a protected path, each followed by a use of what was protected, or of its old place. */
function renamesAbove(what: string, paths: Paths): Attempt[] {
	const attempt = (name: string, then: (scene: Scene, parent: string) => string): Attempt => ({
		name: `${name} by renaming ${what}`,
		script: scene => {
			const [from, to, parent] = paths(scene);
			return `${rename(from, to)} && ${then(scene, parent)}`;
		},
		allowed: hasNoSandbox,
		notWithLandlock: REFUSES_PROTECTION,
	});
	return [
		attempt('write to something read-only', (_scene, parent) => `echo x > ${parent}/ro/kept`),
		attempt('read something hidden', (_scene, parent) => `cat ${parent}/secret/key`),
		attempt('put something else in the place of what is protected', ({work}) => `mkdir -p ${work}/a/b/ro/new`),
	];
}

const rename = (from: string, to: string) => perl(`rename("${from}", "${to}") or exit 1`);

const ATTEMPTS: readonly Attempt[] = [
	{
		name: 'write a file outside',
		script: ({outside}) => `echo x > ${outside}/new`,
		allowed: mayWriteOutside,
	},
	{name: 'change a file outside', script: ({outside}) => `echo x >> ${outside}/file`, allowed: mayWriteOutside},
	{name: 'remove a file outside', script: ({outside}) => `rm ${outside}/file`, allowed: mayWriteOutside},
	{
		name: 'change the mode of a file outside',
		script: ({outside}) => `chmod 777 ${outside}/file`,
		allowed: mayWriteOutside,
		neverWithLandlock: 'Landlock does not look at modes, so none can be changed',
	},
	{
		name: 'write through a symbolic link that was there before',
		script: ({work}) => `echo x > ${work}/link/new`,
		allowed: mayWriteOutside,
	},
	{
		name: 'write through a symbolic link made inside',
		script: ({work, outside}) => `ln -s ${outside} ${work}/own && echo x > ${work}/own/new`,
		allowed: mayWriteOutside,
	},
	{
		name: 'write through a path that leads up',
		script: ({work}) => `cd ${work} && echo x > ../outside/new`,
		allowed: mayWriteOutside,
	},
	{
		name: 'write through /proc/self/root',
		script: ({outside}) => `echo x > /proc/self/root${outside}/new`,
		allowed: mayWriteOutside,
	},
	{name: 'write through /proc/1/root', script: ({outside}) => `echo x > /proc/1/root${outside}/new`},
	{
		name: 'write through a descriptor of the first process',
		script: ({outside}) => `cd /proc/1/cwd && echo x > .${outside}/new`,
	},
	{
		name: 'write to a file through a hard link',
		script: ({work, outside}) => `ln ${outside}/file ${work}/hard && echo x >> ${work}/hard`,
		allowed: hasNoSandbox,
	},
	{
		name: 'rename a file out',
		script: ({work, outside}) => `echo x > ${work}/f && mv ${work}/f ${outside}/new`,
		allowed: mayWriteOutside,
	},
	{name: 'mount the outside anew', script: ({work, outside}) => `mkdir ${work}/m && mount --bind ${outside} ${work}/m`},
	{name: 'make the root writable', script: () => 'mount -o remount,rw /'},
	{name: 'take a mount away', script: ({secret}) => `umount ${secret}`},
	{name: 'become root of a new namespace', script: () => 'unshare -Urm true'},
	{name: 'make a user namespace', script: () => 'unshare -U true'},
	{name: 'leave the root directory', script: ({work}) => `chroot ${work} /bin/true || chroot / /bin/true`},
	{
		name: 'read a hidden file',
		script: ({secret}) => `cat ${secret}/key`,
		allowed: mayReadAll,
		notWithLandlock: REFUSES_PROTECTION,
	},
	{
		name: 'list a hidden directory',
		script: ({secret}) => `ls ${secret}`,
		allowed: mayReadAll,
		notWithLandlock: REFUSES_PROTECTION,
	},
	{name: 'read a hidden file that stands alone', script: ({outside}) => `cat ${outside}/token`, allowed: mayReadAll},
	{
		name: 'write into a hidden directory',
		script: ({secret}) => `echo x > ${secret}/new`,
		notWithLandlock: REFUSES_PROTECTION,
	},
	{
		name: 'rename a hidden directory away',
		script: ({work}) => `mv ${work}/hidden ${work}/seen`,
		allowed: hasNoSandbox,
		notWithLandlock: REFUSES_PROTECTION,
	},
	{
		name: 'replace a read-only directory',
		script: ({work}) => `mv ${work}/.git ${work}/old`,
		allowed: hasNoSandbox,
		notWithLandlock: REFUSES_PROTECTION,
	},
	{
		name: 'write into a read-only directory',
		script: ({work}) => `echo x > ${work}/.git/config`,
		allowed: hasNoSandbox,
		notWithLandlock: REFUSES_PROTECTION,
	},
	...renamesAbove('the parent', ({work}) => [`${work}/a/b`, `${work}/a/c`, `${work}/a/c`]),
	...renamesAbove('the parent away', ({work}) => [`${work}/a/b`, `${work}/d/e`, `${work}/d/e`]),
	...renamesAbove('the grandparent', ({work}) => [`${work}/a`, `${work}/z`, `${work}/z/b`]),
	...renamesAbove('the parent into another root', ({work, other}) => [`${work}/a/b`, `${other}/b`, `${other}/b`]),
	{
		name: 'move what is protected into a directory made later',
		notWithLandlock: REFUSES_PROTECTION,
		script: ({work}) => `mkdir ${work}/later && ${rename(`${work}/a/b/ro`, `${work}/later/ro`)}`,
		allowed: hasNoSandbox,
	},
	{
		name: 'exchange a parent of what is protected for another directory',
		notWithLandlock: REFUSES_PROTECTION,
		script: ({work}) =>
			`mkdir -p ${work}/x/ro && ${perl(`my ($a, $b) = ("${work}/a/b", "${work}/x"); exit(syscall(316, -100, $a, -100, $b, 2) == 0 ? 0 : 1)`)}`,
		allowed: hasNoSandbox,
		isOfX64: true,
	},
	{
		name: 'reach a TCP port over IPv4',
		script: ({port}) => connect(`{host: '127.0.0.1', port: ${port}}`),
		allowed: hasNetwork,
	},
	{
		name: 'reach a TCP port over IPv6',
		script: ({port6}) => connect(`{host: '::1', port: ${port6}}`),
		allowed: hasNetwork,
	},
	{name: 'reach a socket file', script: ({socket}) => connect(`{path: '${socket}'}`), allowed: hasNetwork},
	{name: 'reach an abstract socket', script: ({abstract}) => perl(abstractSocket(abstract)), allowed: hasNetwork},
	{name: 'send a datagram to a socket file from a pair', script: () => perl(datagramPair()), allowed: hasNetwork},
	{name: 'make a socket to the machine below', script: () => perl('socket(my $s, 40, 1, 0) or exit 1')},
	{name: 'read a raw device', script: () => 'cat /dev/vda /dev/sda /dev/mem | head -c 1 | grep -q .'},
	{
		name: 'make a device',
		script: ({work}) => `mknod ${work}/null c 1 3`,
		...(process.getuid?.() === 0 && {allowed: hasNoSandbox}),
	},
	{name: 'look into a process outside', script: ({victim}) => `cat /proc/${victim}/environ`, allowed: hasNoSandbox},
	{name: 'kill a process outside', script: ({victim}) => `kill -9 ${victim}`, allowed: hasNoSandbox},
	{
		name: 'trace a process outside',
		script: ({victim}) => perl(`exit(syscall(101, 16, ${victim}, 0, 0) == 0 ? 0 : 1)`),
		allowed: hasNoSandbox,
		isOfX64: true,
	},
	{
		name: 'trace the server',
		script: () => perl(`exit(syscall(101, 16, ${process.pid}, 0, 0) == 0 ? 0 : 1)`),
		isOfX64: true,
	},
	{name: 'kill the server', script: () => `kill -0 ${process.pid}`, allowed: hasNoSandbox},
	{name: 'have a capability', script: () => `grep -q 'CapEff:.*[1-9a-f]' /proc/self/status`},
	{
		name: 'gain privileges by setuid programs',
		script: () => `grep -q 'NoNewPrivs:.0' /proc/self/status`,
		allowed: hasNoSandbox,
	},
	{
		name: 'become another user',
		script: () => perl('my $other = $> == 65534 ? 65533 : 65534; $> = $other; exit($> == $other ? 0 : 1)'),
	},
	// Opened and not written to: a test that fails must not change the machine.
	{name: 'set what the kernel runs on a crash', script: () => ': >> /proc/sys/kernel/core_pattern'},
	{
		name: 'reach the keyrings of the user',
		script: () => perl('exit(syscall(250, 0, -3, 0) == -1 ? 1 : 0)'),
		isOfX64: true,
	},
	...['kpageflags', 'kpagecount', 'slabinfo', 'keys', 'key-users', 'kcore', 'timer_list', 'vmallocinfo'].map(
		(name): Attempt => ({
			name: `read /proc/${name}`,
			script: () => `head -c 8 /proc/${name} | grep -q .`,
			notWithLandlock: 'it shows the files of /proc as far as their modes do',
		}),
	),
	// Opened and not written to, as above.
	{name: 'reach the system request key', script: () => ': >> /proc/sysrq-trigger'},
	{
		name: 'read the tables of the firmware',
		script: () => 'find /sys/firmware -type f -exec head -qc 1 {} + | grep -q .',
	},
	{name: 'make an io_uring', script: () => perl('exit($! == 38 ? 1 : 0) if syscall(425, 1, 0) == -1'), isOfX64: true},
	{
		name: 'list the shared memory of the host',
		script: () => 'ls /dev/shm | grep -q .',
		notWithLandlock: 'names can be listed',
	},
	{name: 'read the shared memory of the host', script: ({shared}) => `cat ${shared}`, allowed: hasNoSandbox},
];

describeEnforcers('an attempt to', enforcer => {
	test.for(ATTEMPTS)('$name fails', async (attempt, {skip}) => {
		skipImpossible(attempt, skip);
		if (enforcer === 'landlock' && attempt.notWithLandlock) skip(attempt.notWithLandlock);
		const scene = await setTheScene(enforcer);
		const {exitCode} = await run(enforcer, attempt.script(scene), strict(enforcer, scene));
		expect(exitCode).not.toBe(0);
		expectUnharmed(scene);
	});

	test.for(ATTEMPTS.filter(({allowed}) => allowed))(
		'$name succeeds where the policy allows it',
		async (attempt, {skip}) => {
			skipImpossible(attempt, skip);
			const {notWithLandlock, neverWithLandlock = notWithLandlock} = attempt;
			if (enforcer === 'landlock' && neverWithLandlock) skip(neverWithLandlock);
			const scene = await setTheScene(enforcer);
			expect(await run(enforcer, attempt.script(scene), attempt.allowed!(scene))).toMatchObject({exitCode: 0});
		},
	);

	test.for(FOREIGN_CALLS)(
		'reach the keyrings by a call of $abi fails with and without the network',
		async (call, {skip}) => {
			if (process.arch !== 'x64') skip('it is a program of x64');
			const scene = await setTheScene(enforcer);
			const program = join(scene.work, 'program');
			writeFileSync(program, createProgram(call.code), {mode: 0o755});
			for (const network of ['restricted', 'enabled']) {
				const {exitCode} = await run(enforcer, `exec ${program}`, workspacePolicy(scene.work, {network}));
				expect(call.exitCodes).toContain(exitCode);
			}
		},
	);

	test('write through a link that is swapped all the time never gets outside', async () => {
		const scene = await setTheScene(enforcer);
		const {work, outside} = scene;
		const script = `
			cd ${work}; mkdir inside
			(while :; do ln -sfn ${work}/inside swap; ln -sfn ${outside} swap; done) & swapper=$!
			i=0; while [ $i -lt 2000 ] || [ ! -e inside/new ]; do (echo x > swap/new) 2>/dev/null; i=$((i + 1)); done
			kill $swapper; cat inside/new`;
		const {exitCode} = await run(enforcer, script, strict(enforcer, scene));
		expect(exitCode).toBe(0);
		expectUnharmed(scene);
	});
});

/** Ends with 0 if the call before it succeeded: test eax, eax; sets al; movzx edi, al; mov eax, 60; syscall. */
const EXIT_WITH_SUCCESS = '85c0 0f98c0 0fb6f8 b83c000000 0f05';
const KILLED_BY_FILTER = 128 + 31;
const KILLED_BY_FAULT = 128 + 11;

/** `keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0)` by the numbers of other ABIs, in machine code. */
const FOREIGN_CALLS = [
	{
		abi: '32 bits',
		// mov eax, 288; xor ebx, ebx; mov ecx, -3; xor edx, edx; int 0x80
		code: 'b820010000 31db b9fdffffff 31d2 cd80',
		// A fault where the kernel has no calls of 32 bits at all.
		exitCodes: [KILLED_BY_FILTER, KILLED_BY_FAULT],
	},
	{
		abi: 'x32',
		// mov eax, 0x400000fa; xor edi, edi; mov esi, -3; xor edx, edx; syscall
		code: 'b8fa000040 31ff befdffffff 31d2 0f05',
		exitCodes: [KILLED_BY_FILTER],
	},
];

/** An ELF program of x64 that runs this machine code: a header, one segment with everything, and the code. */
function createProgram(code: string): Buffer {
	const [base, headers] = [0x40_0000n, 120n];
	const body = Buffer.from(`${code}${EXIT_WITH_SUCCESS}`.replaceAll(' ', ''), 'hex');
	const program = Buffer.concat([Buffer.alloc(Number(headers)), body]);
	program.write('7f454c46020101', 0, 'hex');
	for (const [offset, value] of [
		[16, 2],
		[18, 62],
		[52, 64],
		[54, 56],
		[56, 1],
	] as const) {
		program.writeUInt16LE(value, offset);
	}
	program.writeUInt32LE(1, 20);
	program.writeBigUInt64LE(base + headers, 24);
	program.writeBigUInt64LE(64n, 32);
	program.writeUInt32LE(1, 64);
	program.writeUInt32LE(5, 68);
	for (const offset of [80, 88]) program.writeBigUInt64LE(base, offset);
	for (const offset of [96, 104]) program.writeBigUInt64LE(BigInt(program.length), offset);
	program.writeBigUInt64LE(0x1000n, 112);
	return program;
}

/** Skips an attempt this machine cannot make. */
function skipImpossible({script, isOfX64}: Attempt, skip: (reason: string) => never): void {
	if (isOfX64 && process.arch !== 'x64') skip('its system calls have the numbers of x64');
	if (script(NOWHERE).includes('::1') && !hasIpv6()) skip(NO_IPV6);
	if (script(NOWHERE).includes('perl -e') && !isInstalled('perl')) skip('perl is not installed');
}

async function setTheScene(enforcer: EnforcerName): Promise<Scene> {
	const base = scratchDirectory();
	const [work, other] = [join(base, 'work'), join(base, 'other')];
	const [outside, secret] = [join(base, 'outside'), join(base, 'secret')];
	for (const path of [work, other, outside, secret, join(work, 'hidden')]) mkdirSync(path);
	// Landlock alone refuses to protect it below a writable directory.
	if (enforcer !== 'landlock') mkdirSync(join(work, '.git'));
	for (const path of ['a/b/ro', 'a/b/secret', 'd']) mkdirSync(join(work, path), {recursive: true});
	writeFileSync(join(work, 'a/b/ro/kept'), 'untouched');
	writeFileSync(join(work, 'a/b/secret/key'), 'secret');
	writeFileSync(join(outside, 'file'), 'untouched');
	writeFileSync(join(outside, 'token'), 'secret');
	writeFileSync(join(secret, 'key'), 'secret');
	symlinkSync(outside, join(work, 'link'));
	const socket = join(outside, 'socket');
	const abstract = `longarm-${process.pid}-${Date.now()}`;
	await listening({path: socket});
	await listening({path: `\0${abstract}`});
	const port = await listening({host: '127.0.0.1', port: 0});
	const port6 = hasIpv6() ? await listening({host: '::1', port: 0}) : 0;
	const shared = join('/dev/shm', abstract);
	writeFileSync(shared, 'shared');
	onTestFinished(() => rmSync(shared));
	return {work, other, outside, secret, victim: spawnUnrelated(), port, port6, socket, abstract, shared};
}

const strict = (enforcer: EnforcerName, {work, other, outside, secret}: Scene) => {
	const shown = [root('read'), at(work, 'write'), at(other, 'write')];
	if (enforcer === 'landlock') return policy([...shown, at(join(outside, 'token'), 'deny')]);
	return policy([
		...shown,
		at(join(work, 'a/b/ro'), 'read'),
		at(join(work, 'a/b/secret'), 'deny'),
		at(join(work, '.git'), 'read'),
		at(join(work, 'hidden'), 'deny'),
		at(join(outside, 'token'), 'deny'),
		at(secret, 'deny'),
	]);
};

function expectUnharmed({outside, secret, work, victim}: Scene): void {
	expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('untouched');
	expect(existsSync(join(outside, 'new'))).toBe(false);
	expect(existsSync(join(secret, 'new'))).toBe(false);
	expect(existsSync(join(work, 'hidden'))).toBe(true);
	expect(readFileSync(join(work, 'a/b/ro/kept'), 'utf8')).toBe('untouched');
	expect(existsSync(join(work, 'a/b/secret/key'))).toBe(true);
	expect(existsSync(join(work, '.git/config'))).toBe(false);
	expect(isAlive(victim)).toBe(true);
}

async function run(sandboxEnforcer: EnforcerName, script: string, sandbox: object | null) {
	const client = await TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
	await client.sh('p', script, {sandbox});
	return client.done('p');
}

function listening(where: object): Promise<number> {
	const server: Server = createServer(peer => peer.on('error', () => {}).end('hello'));
	onTestFinished(() => void server.close());
	return new Promise((resolve, reject) => {
		server.once('error', reject);
		server.listen(where, () => {
			const address = server.address();
			resolve(address && typeof address === 'object' ? address.port : 0);
		});
	});
}

function connect(where: string): string {
	const script = `require('net').connect(${where}, () => process.exit(0)).on('error', () => process.exit(1))`;
	return `${process.execPath} -e "${script}"`;
}

function perl(script: string): string {
	return `perl -e '${script}'`;
}

// Some servers fill the name up with zeros, some do not.
const abstractSocket = (name: string) =>
	`use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit 1;
	connect($s, pack("Sxa*", AF_UNIX, "${name}")) or connect($s, pack("Sxa107", AF_UNIX, "${name}")) or exit 1`;
const datagramPair = () => 'use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_DGRAM, 0) or exit 1';
