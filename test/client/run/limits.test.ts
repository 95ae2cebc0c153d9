// covers: src/client/run/run-limits.ts, src/client/process/end-tagged.ts, src/client/session/prepare-start.ts
import {describe, expect, test, vi} from 'vitest';
import type {ProcessHandle} from '../../../src/client/process/process-handle.js';
import type {ProcessHost} from '../../../src/client/run/command.js';
import {communicate} from '../../../src/client/run/communicate.js';
import {run} from '../../../src/client/run/run.js';
import {RunError} from '../../../src/client/run/run-result.js';
import {runCommandLine} from '../../../src/client/run/shell-command.js';
import {Environment} from '../../../src/environments/environment.js';
import {stopClock, withTimeEnough} from '../../helpers/clock.js';
import {Cuttable} from '../../helpers/cuttable.js';
import {needs} from '../../helpers/needs.js';
import {isAlive, untilDead} from '../../helpers/processes.js';
import {serving} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';
import {closeWithTest, ENVIRONMENTS} from '../../helpers/transports.js';

const LIMIT_MS = 60_000;
/** Leaves a child that holds its output open. */
const LEAVES_CHILD = 'sleep 1000 & echo $!; exit 3';
/** Its child has lost its parent and changed its session. */
const LEAVES_SESSION = `setsid sh -c 'echo $$; exec sleep 1000' & exit 3`;
/** Ends with a child that has lost its parent and changed its session, while the command itself runs on. */
const RUNS_BESIDE_SESSION = `(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &); exec sleep 1000`;
/** Its child does not react to SIGTERM and holds nothing open. */
const STUBBORN_CHILD = `trap '' TERM; sleep 1000 >/dev/null 2>&1 & trap - TERM; echo $!; wait`;

const shell = (script: string): string[] => ['/bin/sh', '-c', script];

/** The machine, and the handle of the process that is started on it next. */
function watched(environment: Environment): {host: ProcessHost; started: Promise<ProcessHandle>} {
	let tell: (process: ProcessHandle) => void;
	const started = new Promise<ProcessHandle>(resolve => {
		tell = resolve;
	});
	const host: ProcessHost = {
		info: () => environment.info(),
		processes: {
			start: async (params, options) => {
				const result = await environment.processes.start(params, options);
				tell(result.process);
				return result;
			},
		},
	};
	return {host, started};
}

/** Settles when the process has exited and its first line has arrived. */
async function untilLeft(process: ProcessHandle): Promise<void> {
	await process.exited;
	await process.waitForSeq(1);
}

describe.each(Object.entries(ENVIRONMENTS))('on %s', (name, machine) => {
	test('a command that left a child is ended with it at its time limit, at once, and its exit code is kept', async () => {
		const {host, started} = watched(await machine());
		// No time passes after the limit is reached.
		stopClock();
		const running = run(host, shell(LEAVES_CHILD), {timeout: LIMIT_MS, reject: false});
		await untilLeft(await started);
		vi.advanceTimersByTime(LIMIT_MS);
		const {reason, exitCode, stdout} = await running;
		expect([reason, exitCode, isAlive(Number(stdout.text))]).toEqual(['timeout', 3, false]);
	});

	test(
		'a command whose child has changed its session is ended with it at its time limit',
		needs('setsid'),
		async () => {
			const {host, started} = watched(await machine());
			stopClock();
			const running = run(host, shell(LEAVES_SESSION), {timeout: LIMIT_MS, reject: false});
			await untilLeft(await started);
			vi.advanceTimersByTime(LIMIT_MS);
			const {reason, exitCode, stdout} = await running;
			expect([reason, exitCode, isAlive(Number(stdout.text))]).toEqual(['timeout', 3, false]);
		},
	);

	test(
		'a child that lost its parent and changed its session ends with a command that runs',
		needs('setsid'),
		async () => {
			const {host} = watched(await machine());
			const controller = new AbortController();
			const onStdout = (): void => controller.abort();
			const result = await run(host, shell(RUNS_BESIDE_SESSION), {signal: controller.signal, onStdout, reject: false});
			expect([result.reason, isAlive(Number(result.stdout.text))]).toEqual(['aborted', false]);
		},
	);

	test('a command line that left a child is ended with it by the signal of its caller', async () => {
		const {host, started} = watched(await machine());
		stopClock();
		const controller = new AbortController();
		const running = runCommandLine(host, LEAVES_CHILD, {signal: controller.signal, reject: false});
		await untilLeft(await started);
		controller.abort();
		const {reason, exitCode, stdout} = await running;
		expect([reason, exitCode, isAlive(Number(stdout.text))]).toEqual(['aborted', 3, false]);
	});

	test.each(['timeout', 'aborted'] as const)('communicate ends a process and its child: %s', async reason => {
		const environment = await machine();
		const controller = new AbortController();
		const {process} = await environment.processes.start(sh('p', LEAVES_CHILD), {signal: new AbortController().signal});
		stopClock();
		const limits = {timeout: LIMIT_MS, signal: controller.signal};
		const failure = communicate(process, limits).catch((error: unknown) => error);
		await untilLeft(process);
		if (reason === 'timeout') vi.advanceTimersByTime(LIMIT_MS);
		else controller.abort();
		const error = await failure;
		expect(error).toBeInstanceOf(RunError);
		const {result, message} = error as RunError;
		expect([result.reason, result.exitCode, isAlive(Number(result.stdout.text))]).toEqual([reason, 3, false]);
		expect(message).toContain('process p ');
	});

	test('a child that ignores the request to end and holds no output is gone when the caller is told', async () => {
		const {host} = watched(await machine());
		const controller = new AbortController();
		const onStdout = (): void => controller.abort();
		const result = await run(host, shell(STUBBORN_CHILD), {signal: controller.signal, onStdout, reject: false});
		expect([result.reason, isAlive(Number(result.stdout.text))]).toEqual(['aborted', false]);
	});

	test('a process that is started with a time limit is ended with its child, and the reason is told', async () => {
		const environment = await machine();
		const pid = await withTimeEnough(async limitMs => {
			const process = await environment.start(shell('sleep 1000 & echo $!; wait'), {timeout: `${limitMs}ms`});
			const {exit, stdout} = await communicate(process);
			expect(exit).toMatchObject({reason: 'timeout'});
			return stdout.totalBytes > 0 ? Number(stdout.text) : undefined;
		});
		await untilDead(pid);
	});

	test.for([
		['reacts to SIGTERM', ':'],
		['ignores SIGTERM', `trap '' TERM`],
	])('a child in another session is gone when the end at a time limit is reported: it %s', async ([, trap], {skip}) => {
		if (name.includes('stock')) skip('its server reports the end before the client ends what is left');
		const environment = await machine();
		const child = `(${trap}; exec setsid sleep 1000 >/dev/null 2>&1) & echo $!; exec sleep 1000`;
		const pid = await withTimeEnough(async limitMs => {
			const process = await environment.start(shell(child), {timeout: limitMs});
			const {stdout} = await communicate(process);
			return stdout.totalBytes > 0 ? Number(stdout.text) : undefined;
		});
		expect(isAlive(pid)).toBe(false);
	});

	test('a time limit holds for the child of a process that has exited before', async () => {
		const environment = await machine();
		const pid = await withTimeEnough(async limitMs => {
			const process = await environment.start(shell(LEAVES_CHILD), {timeout: limitMs});
			const {exit, stdout} = await communicate(process);
			return exit.exitCode === 3 ? Number(stdout.text) : undefined;
		});
		await untilDead(pid);
		expect(isAlive(pid)).toBe(false);
	});

	test('a process that ends in time is not touched by its limit', async () => {
		const environment = await machine();
		const {reason, exitCode} = await run(environment, shell('exit 4'), {timeout: '1h', reject: false});
		expect([reason, exitCode]).toEqual(['exit', 4]);
	});

	test('terminate ends what an exited process has left behind', async ({skip}) => {
		if (name.includes('stock')) skip('only a process with a limit can be recognised there');
		const environment = await machine();
		const {process} = await environment.processes.start(sh('p', LEAVES_CHILD));
		const output = communicate(process);
		await untilLeft(process);
		expect(await process.terminate()).toMatchObject({running: false});
		await untilDead(Number((await output).stdout.text));
	});
});

/** A machine behind a line, and a command on it that runs until it is ended. */
async function overLine(): Promise<{line: Cuttable; environment: Environment}> {
	const {url} = await serving();
	const line = await Cuttable.to(url);
	return {line, environment: closeWithTest(Environment.remote('remote', line.url))};
}

test('a command over a silent link is ended by the server at its limit, and the caller is told without the link', async () => {
	const {line, environment} = await overLine();
	let pid = 0;
	const onStdout = (text: string): void => {
		pid = Number(text);
		line.isSilent = true;
	};
	const result = await run(environment, shell('echo $$; exec sleep 1000'), {timeout: 2000, onStdout, reject: false});
	expect([result.reason, result.exitCode]).toEqual(['timeout', undefined]);
	expect(result.durationMs).toBeLessThan(2000 + 3000);
	// The link is still silent.
	await untilDead(pid);
});

test('an abort over a silent link is answered at once, and delivered when the session is resumed', async () => {
	const {line, environment} = await overLine();
	const controller = new AbortController();
	let pid = 0;
	let abortedAt = 0;
	const onStdout = (text: string): void => {
		pid = Number(text);
		line.isSilent = true;
		abortedAt = performance.now();
		controller.abort(new Error('not needed any more'));
	};
	const {signal} = controller;
	const result = await run(environment, shell('echo $$; exec sleep 1000'), {signal, onStdout, reject: false});
	expect([result.reason, result.error?.message]).toEqual(['aborted', 'not needed any more']);
	expect(performance.now() - abortedAt).toBeLessThan(3000);
	expect(isAlive(pid)).toBe(true);
	const session = await environment.sessionId();
	line.isSilent = false;
	line.cut();
	await untilDead(pid);
	expect(await environment.sessionId()).toBe(session);
});

test('a terminate that a lost connection interrupts is repeated when the session is resumed', async () => {
	const {line, environment} = await overLine();
	const process = await environment.start(shell('echo $$; exec sleep 1000'));
	await process.waitForSeq(0);
	line.isSilent = true;
	const ending = process.terminate();
	line.isSilent = false;
	line.cut();
	expect(await ending).toMatchObject({running: true});
	expect(await process.exited).toMatchObject({exitCode: 137});
});

test('output that comes after the caller was told is not handed on', async () => {
	const {line, environment} = await overLine();
	const controller = new AbortController();
	const heard: string[] = [];
	const onStdout = (text: string): void => {
		heard.push(text);
		line.isSilent = true;
		controller.abort();
	};
	const script = `trap 'echo late; exit 0' TERM; echo early; while :; do sleep 0.02; done`;
	const {host, started} = watched(environment);
	await run(host, shell(script), {signal: controller.signal, onStdout, reject: false});
	line.isSilent = false;
	line.cut();
	await (await started).closed;
	expect(heard).toEqual(['early\n']);
});
