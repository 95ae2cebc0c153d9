import {spawn} from 'node:child_process';
import {chmodSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync} from 'node:fs';
import {constants, tmpdir} from 'node:os';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import type {PendingChild, SpawnRequest} from '../../../../src/processes/backends/backend.js';
import type {ChildLimits} from '../../../../src/processes/backends/child-limits.js';
import {
	nativeBackend,
	openChannels,
	PIPES,
	PIPES_WITH_STDIN,
	PTY,
	Report,
	run,
	sh,
	start,
} from '../../../helpers/children.js';
import {isRoot, unless} from '../../../helpers/needs.js';
import {eventually, untilDead} from '../../../helpers/processes.js';
import {scratchDirectory} from '../../../helpers/scratch.js';
import {waitTicks} from '../../../helpers/ticks.js';

const backend = nativeBackend();
const STARTS = 60;
const LIMITED: ChildLimits = {openFiles: 321, cpuSeconds: 77, nice: 3, oomScore: 600};
/** Each limit that a process has, as one line. */
const TELL = 'echo $(ulimit -n) $(ulimit -t) $(cut -d" " -f19 /proc/self/stat) $(cat /proc/self/oom_score_adj)';
const KINDS = [PIPES, PTY] as const;

describe('every descendant of a program that forks at once has the limits', () => {
	test.each(KINDS)('on $kind', async io => {
		const script = `(${TELL}) & (${TELL}) & wait; ${TELL}`;
		for (let count = 0; count < STARTS; count++) {
			const {stdout, pty} = await run(backend, {...sh(script, io), limits: LIMITED});
			const lines = (stdout + pty).trim().split(/\r?\n/);
			expect(lines).toEqual(Array(3).fill('321 77 3 600'));
		}
	});

	test('with a score for the OOM killer alone, which the server has no longer after the start', async () => {
		const own = readFileSync('/proc/self/oom_score_adj', 'latin1').trim();
		const tell = 'cat /proc/self/oom_score_adj';
		for (let count = 0; count < STARTS; count++) {
			const {stdout} = await run(backend, {...sh(`(${tell}) & ${tell}; wait`, PIPES), limits: {oomScore: 700}});
			expect(stdout).toBe('700\n700\n');
			expect(readFileSync('/proc/self/oom_score_adj', 'latin1').trim()).toBe(own);
		}
	});

	test('behind a wrapper with descriptors of its own', async () => {
		const wrapper = {descriptors: [Buffer.from('third\n')], hasOwnSession: false};
		for (let count = 0; count < STARTS; count++) {
			const request = {...sh(`(${TELL}) & wait; cat <&3`, PIPES), wrapper, limits: LIMITED};
			expect((await run(backend, request)).stdout).toBe('321 77 3 600\nthird\n');
		}
	});
});

describe('every descendant of a program that forks at once is in the control group', unlessGroups(), () => {
	test.each(KINDS)('on $kind', async io => {
		const group = controlGroup();
		const tell = 'grep ^0:: /proc/self/cgroup';
		for (let count = 0; count < STARTS; count++) {
			const {stdout, pty} = await run(backend, {...sh(`(${tell}) & (${tell}) & wait; ${tell}`, io), limits: {group}});
			expect((stdout + pty).trim().split(/\r?\n/)).toEqual(Array(3).fill(`0::${group.name}`));
		}
	});
});

test.each([
	['no such program', {file: '/nowhere/program'}, 'SPAWN_FAILED', 'ENOENT'],
	['no program', {file: programFile(0o755)}, 'SPAWN_FAILED', 'ENOEXEC'],
	['not executable', {file: programFile(0o644)}, 'SPAWN_FAILED', 'EACCES'],
	['no such directory', {cwd: Buffer.from('/nowhere')}, 'SPAWN_FAILED', 'ENOENT'],
] as [string, Partial<SpawnRequest>, string, string][])(
	'%s fails the start as it does without limits',
	async (_, change, code, error) => {
		const before = openChannels();
		const failure = async (limits?: ChildLimits): Promise<unknown> => {
			const failed = start(backend, {...sh('true', PIPES, change), limits});
			return failed.catch((reason: unknown) => reason);
		};
		expect(await failure(LIMITED)).toMatchObject({code, context: {error}});
		expect(await failure(LIMITED)).toEqual(await failure());
		expect(openChannels()).toEqual(before);
	},
);

test('nothing of a program runs whose limits cannot be set', async () => {
	const witness = join(scratchDirectory(), 'ran');
	const group = {
		add: () => {
			throw new Error('refused');
		},
	};
	const request = {...sh(`echo > ${witness}`, PIPES), limits: {group}};
	await expect(start(backend, request)).rejects.toThrow('refused');
	expect(() => readFileSync(witness)).toThrow('ENOENT');
});

test.each(KINDS)('a program on $kind sees nothing of the launcher', async io => {
	const tell =
		'tr "\\0" "|" </proc/$$/cmdline; echo; tr "\\0" "|" </proc/$$/environ; echo; readlink /proc/$$/exe; cat /proc/$$/comm; echo /proc/self/fd/*; grep -E "^Sig[BIC]" /proc/self/status; exit 7';
	const seen = async (limits?: ChildLimits): Promise<unknown> => {
		const environment = new Map([
			['PATH', process.env['PATH']!],
			['odd name', 'odd=value'],
		]);
		return run(backend, {...sh(tell, io, {argv: ['another name', '-c', tell], environment}), limits});
	};
	const plain = await seen();
	expect(plain).toMatchObject({exitCode: 7});
	expect(await seen(LIMITED)).toEqual(plain);
});

test('standard input reaches a program with limits to the last byte', async () => {
	const {child, finished} = await start(backend, {...sh('cat', PIPES_WITH_STDIN), limits: LIMITED});
	child.stdin!.write(Buffer.from('in '.repeat(1000)), () => {});
	child.stdin!.end();
	expect((await finished()).stdout).toBe('in '.repeat(1000));
});

describe('a child that does not get the processor while it is started', () => {
	test.each(KINDS)('holds up nothing else on $kind', async io => {
		const held = heldGroup();
		let hasStarted = false;
		const starting = start(backend, {...sh('echo $(ulimit -n)', io), limits: {...LIMITED, group: held}});
		void starting.finally(() => {
			hasStarted = true;
		});
		await waitTicks();
		expect(hasStarted).toBe(false);
		const {stdout, pty} = await run(backend, {...sh('echo other', io), limits: LIMITED});
		expect(stdout + pty).toMatch(/^other/);
		expect(hasStarted).toBe(false);
		held.release();
		const {finished} = await starting;
		const outcome = await finished();
		expect({...outcome, stdout: outcome.stdout + outcome.pty}).toMatchObject({
			exitCode: 0,
			stdout: expect.stringMatching(/^321\r?\n$/) as string,
		});
	});

	test('fails as another does when the program cannot be run', async () => {
		const before = openChannels();
		const held = heldGroup();
		const request = {...sh('', PIPES_WITH_STDIN, {file: '/nowhere/program'}), limits: {group: held}};
		const starting = start(backend, request);
		await waitTicks();
		held.release();
		await expect(starting).rejects.toMatchObject({code: 'SPAWN_FAILED', context: {error: 'ENOENT'}});
		await untilDead(held.pid);
		await eventually(() => openChannels().length === before.length);
	});

	test('is ended at once when its start is cancelled', async () => {
		const held = heldGroup();
		const witness = join(scratchDirectory(), 'ran');
		const report = new Report();
		const spawned = backend.spawn({...sh(`echo > ${witness}`, PIPES), limits: {group: held}}, report) as PendingChild;
		spawned.cancel!();
		const child = await spawned;
		await report.until(() => report.exits.length > 0);
		child.drainAndClose();
		expect(report.exits).toEqual([128 + constants.signals.SIGKILL]);
		expect(() => readFileSync(witness)).toThrow('ENOENT');
	});
});

/**
 * Stops every child that is added, before it is the program. Another process lets it go on in the end, because a backend
 * that waits for the child would never come back.
 */
function heldGroup(): {add(pid: number): void; release(): void; readonly pid: number} {
	let held = 0;
	return {
		get pid() {
			return held;
		},
		add: pid => {
			held = pid;
			process.kill(pid, 'SIGSTOP');
			const rescue = spawn('/bin/sh', ['-c', `sleep 10; kill -CONT ${pid}`], {stdio: 'ignore', detached: true});
			onTestFinished(() => void process.kill(-rescue.pid!, 'SIGKILL'));
		},
		release: () => void process.kill(held, 'SIGCONT'),
	};
}

/** A file that is neither a program nor a script. */
function programFile(mode: number): string {
	const file = join(mkdtempSync(join(tmpdir(), 'longarm-launcher-')), 'program');
	writeFileSync(file, 'text');
	chmodSync(file, mode);
	return file;
}

function unlessGroups(): ReturnType<typeof unless> {
	if (!isRoot) return unless('only root can make a control group');
	return unless(groupRoot() === undefined ? 'this machine has no control groups of version 2' : undefined);
}

function groupRoot(): string | undefined {
	return /^\S+ (\S+) cgroup2 rw/m.exec(readFileSync('/proc/mounts', 'latin1'))?.[1];
}

/** A control group without limits; removed with the test. */
function controlGroup(): {name: string; add(pid: number): void} {
	const name = `/longarm-test-${process.pid}-${Date.now()}`;
	const path = join(groupRoot()!, name);
	mkdirSync(path);
	onTestFinished(() => rmdirSync(path));
	return {name, add: pid => writeFileSync(join(path, 'cgroup.procs'), String(pid))};
}
