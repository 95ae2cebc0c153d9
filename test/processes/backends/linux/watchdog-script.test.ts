import {type ChildProcess, spawn, spawnSync} from 'node:child_process';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import type {Writable} from 'node:stream';
import {describe, expect, onTestFinished, test} from 'vitest';
import {GOODBYE, WATCHDOG_NAME, WATCHDOG_SCRIPT} from '../../../../src/processes/backends/linux/watchdog-script.js';
import {listChildren, readProcessInfo} from '../../../../src/processes/tree/process-tree.js';
import {findProgram, needs} from '../../../helpers/needs.js';
import {eventually, isAlive, untilDead} from '../../../helpers/processes.js';

const PREFIX = '312345678';
const TAG = `${PREFIX}0000000042`;
const MARK = `${PREFIX}0000000000`;
const OTHER_TAG = '3999999990000000042';
const OTHER_MARK = '3999999990000000000';
/** Above the pids of all processes. */
const NO_PROCESS = '4194304';
/** Programs that are `/bin/sh` somewhere. */
const SHELLS = ['dash', 'bash', 'busybox'].map(findProgram).filter(file => file !== undefined);

/** Starts a watchdog that any shell may run; it knows processes by the marks above. */
function startWatchdog(shell: string, server = NO_PROCESS) {
	const {sessionId, startTime} = readProcessInfo(process.pid)!;
	const facts = [server, String(sessionId), startTime, PREFIX, MARK, ''];
	const child = spawn(shell, ['-c', WATCHDOG_SCRIPT, WATCHDOG_NAME, ...facts], {
		argv0: 'sh',
		// A pause ends at once: the last descriptor has no socket with a timeout.
		stdio: ['pipe', 'ignore', 'ignore', 'ignore'],
		env: {},
	});
	onTestFinished(() => void child.kill('SIGKILL'));
	return {child, input: child.stdin as Writable, ended: once(child, 'exit')};
}

/** Starts a program in a session of its own that sleeps; its limits are those given to `prlimit`. */
function startSleeper(limits: readonly string[] = [], script = 'exec sleep 1000'): ChildProcess & {pid: number} {
	const argv = limits.length > 0 ? ['prlimit', ...limits, 'sh', '-c', script] : ['sh', '-c', script];
	const child = spawn(argv[0]!, argv.slice(1), {stdio: 'ignore', detached: true});
	onTestFinished(() => {
		try {
			process.kill(-child.pid!, 'SIGKILL');
		} catch {}
	});
	return child as ChildProcess & {pid: number};
}

async function untilSleeping(pid: number): Promise<void> {
	await eventually(() => readProcessInfo(pid)?.command === 'sleep');
}

describe.each(SHELLS)('the script of the watchdog in %s', shell => {
	test('kills what carries a mark, and nothing that carries another one or none', needs('prlimit'), async () => {
		const ours = [
			startSleeper([`--rttime=${TAG}:${TAG}`]),
			startSleeper([`--rttime=5:${TAG}`]),
			startSleeper([`--locks=${MARK}:${MARK}`]),
			// Both lowered: a process that may not raise its limits has no other way to hide.
			startSleeper(['--rttime=7:7', '--locks=7:7']),
		];
		const others = [
			startSleeper(),
			startSleeper([`--rttime=${OTHER_TAG}:${OTHER_TAG}`, `--locks=${OTHER_MARK}:${OTHER_MARK}`]),
			startSleeper(['--rttime=7:7']),
			startSleeper(['--locks=7:7']),
		];
		for (const {pid} of [...ours, ...others]) await untilSleeping(pid);
		// The same with a parent is somebody's.
		const parent = startSleeper([], 'prlimit --rttime=7:7 --locks=7:7 sleep 1000 & wait');
		others.push(parent);
		const child = await eventually(() =>
			listChildren(parent.pid).find(pid => readProcessInfo(pid)?.command === 'sleep'),
		);
		const watchdog = startWatchdog(shell);
		watchdog.input.end();
		expect(await watchdog.ended).toEqual([0, null]);
		await untilDead(...ours.map(({pid}) => pid));
		expect([...others.map(({pid}) => pid), child].every(isAlive)).toBe(true);
	});

	test('follows parents and sessions to processes without a mark', needs('prlimit', 'setsid'), async () => {
		const parent = startSleeper([], 'setsid sleep 1000 & (sleep 1000 & sleep 1000 & wait) & wait');
		const below = await eventually(() => {
			const found = listAll(parent.pid);
			return found.filter(pid => readProcessInfo(pid)?.command === 'sleep').length === 3 && found;
		});
		spawnSync('prlimit', ['--pid', String(parent.pid), `--rttime=${TAG}:${TAG}`]);
		const watchdog = startWatchdog(shell);
		watchdog.input.end(`${GOODBYE}\n`);
		expect(await watchdog.ended).toEqual([0, null]);
		await untilDead(parent.pid, ...below);
	});

	test('kills a process that it was told of, but no later one with the same id', async () => {
		const [ours, other] = [startSleeper(), startSleeper()];
		for (const {pid} of [ours, other]) await untilSleeping(pid);
		const watchdog = startWatchdog(shell);
		const {startTime} = readProcessInfo(ours.pid)!;
		watchdog.input.end(`${ours.pid} ${startTime}\n${other.pid} 1\n`);
		expect(await watchdog.ended).toEqual([0, null]);
		await untilDead(ours.pid);
		expect(isAlive(other.pid)).toBe(true);
	});

	test('does nothing while its server lives, whatever happens to its input', needs('prlimit'), async () => {
		const ours = startSleeper([`--rttime=${TAG}:${TAG}`]);
		await untilSleeping(ours.pid);
		const watchdog = startWatchdog(shell, String(process.pid));
		watchdog.input.end();
		expect(await watchdog.ended).toEqual([0, null]);
		expect(isAlive(ours.pid)).toBe(true);
	});

	test('ignores every signal that can be ignored', async () => {
		const watchdog = startWatchdog(shell);
		const ignored = await eventually(() => readIgnoredSignals(watchdog.child.pid!));
		expect(ignored & 0b111_1111_1111_1111n).toBe(0b111_1110_1111_1111n);
		watchdog.input.end(`${GOODBYE}\n`);
		expect(await watchdog.ended).toEqual([0, null]);
	});
});

function listAll(pid: number): number[] {
	return listChildren(pid).flatMap(child => [child, ...listAll(child)]);
}

/** Bit mask; undefined before the last one is ignored. */
function readIgnoredSignals(pid: number): bigint | undefined {
	const digits = /^SigIgn:\s+(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]!;
	const mask = BigInt(`0x${digits}`);
	return mask >> 63n === 1n ? mask : undefined;
}
