import {createHash, randomBytes} from 'node:crypto';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import type {ProcessHost} from '../../../src/client/run/command.js';
import {communicate} from '../../../src/client/run/communicate.js';
import {run} from '../../../src/client/run/run.js';
import {RunError, type RunResult} from '../../../src/client/run/run-result.js';
import type {RejectedError} from '../../../src/client/session/client-errors.js';
import {SessionClient} from '../../../src/client/session/session-client.js';
import {ERRORS} from '../../../src/shared/errors.js';
import {connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import type {Transport} from '../../../src/transports/transport.js';
import {stopClock} from '../../helpers/clock.js';
import {serving} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';
import {ENVIRONMENTS} from '../../helpers/transports.js';

const shell = (script: string): string[] => ['/bin/sh', '-c', script];

const LIMIT_MS = 300;
const reachLimit = (): void => void vi.advanceTimersByTime(LIMIT_MS);

function* endless(): Generator<string> {
	for (;;) yield 'line\n'.repeat(10_000);
}

function* broken(): Generator<string> {
	yield 'some';
	throw new RangeError('no more');
}

async function rejection(promise: Promise<unknown>): Promise<RunResult> {
	const error = await promise.catch((thrown: unknown) => thrown);
	expect(error).toBeInstanceOf(RunError);
	return (error as RunError).result;
}

describe.each(Object.entries(ENVIRONMENTS))('on %s', (_name, machine) => {
	test('a command runs to its end and both streams are there', async () => {
		const result = await run(await machine(), shell('echo out; echo err >&2'));
		expect(result).toMatchObject({reason: 'exit', exitCode: 0, error: undefined});
		expect([result.stdout.text, result.stderr.text]).toEqual(['out\n', 'err\n']);
	});

	test('a code other than 0 is thrown with everything known, or given back to those who ask for it', async () => {
		const environment = await machine();
		const command = shell('echo partly; echo broken >&2; exit 3');
		const result = await rejection(run(environment, command));
		expect([result.reason, result.exitCode, result.stdout.text]).toEqual(['exit', 3, 'partly\n']);
		await expect(run(environment, command)).rejects.toThrow('/bin/sh exited with code 3: broken');
		expect(await run(environment, command, {reject: false})).toMatchObject({reason: 'exit', exitCode: 3});
	});

	test('a program that is not there could not be started', async () => {
		const result = await run(await machine(), ['/no/such/program'], {reject: false});
		expect(result).toMatchObject({reason: 'spawn', exitCode: undefined});
		expect(result.error!.message).toContain('os error 2');
	});

	test('a command that takes too long is ended, and what it said is kept', async () => {
		const environment = await machine();
		stopClock();
		const options = {timeout: LIMIT_MS, onOutput: reachLimit, reject: false};
		const result = await run(environment, shell('echo begun; sleep 1000'), options);
		expect([result.reason, result.stdout.text]).toEqual(['timeout', 'begun\n']);
		expect(result.exitCode).toBeGreaterThan(128);
	});

	test('a command is ended by the signal of its caller', async () => {
		const controller = new AbortController();
		const onOutput = (): void => controller.abort();
		const options = {signal: controller.signal, onOutput, reject: false};
		const result = await run(await machine(), shell('echo begun; sleep 1000'), options);
		expect(result).toMatchObject({reason: 'aborted'});
		expect(result.exitCode).toBeGreaterThan(128);
		const none = await run(await machine(), shell('echo never'), {signal: controller.signal, reject: false});
		expect([none.reason, none.stdout.totalBytes]).toEqual(['aborted', 0]);
	});

	test('much output leaves its head, its tail and the true size', async () => {
		const result = await run(await machine(), shell('seq 1 300000'), {maxBytes: 1000});
		const whole = Array.from({length: 300_000}, (_, index) => `${index + 1}\n`).join('');
		expect([result.stdout.totalBytes, result.stdout.omittedBytes]).toEqual([whole.length, whole.length - 1000]);
		expect(result.stdout.text).toBe(
			`${whole.slice(0, 500)}\n... ${whole.length - 1000} bytes omitted ...\n${whole.slice(-500)}`,
		);
	});

	test('it runs where it is told, with the variables it is given', async () => {
		const result = await run(await machine(), shell('pwd; echo $GREETING'), {cwd: '/usr', env: {GREETING: 'hello'}});
		expect(result.stdout.text).toBe('/usr\nhello\n');
		const bare = await run(await machine(), ['/usr/bin/env'], {inherit: 'none', env: {ONLY: 'this'}});
		expect(bare.stdout.text).toContain('ONLY=this\n');
		expect(bare.stdout.text).not.toContain('HOME=');
	});
});

describe.each(Object.entries(ENVIRONMENTS).filter(([name]) => !name.includes('stock')))('on %s', (_name, machine) => {
	test('a missing program and a missing directory are told apart, by code, context, hint and words', async () => {
		const environment = await machine();
		const noProgram = run(environment, ['no-such-program']);
		await expect(noProgram).rejects.toThrow(
			'no-such-program could not be started: there is no such program: No such file or directory (os error 2)',
		);
		const {error: missing} = await rejection(noProgram);
		expect(missing).toMatchObject({errorCode: 'PROGRAM_NOT_FOUND', context: {program: 'no-such-program'}});
		const noDirectory = run(environment, ['/bin/sh'], {cwd: '/no/such'});
		await expect(noDirectory).rejects.toThrow(
			'/bin/sh could not be started: the working directory /no/such cannot be used: No such file or directory (os error 2)',
		);
		const {error: unusable} = await rejection(noDirectory);
		expect(unusable).toMatchObject({errorCode: 'CWD_UNUSABLE', context: {cwd: '/no/such'}});
		expect([missing, unusable].map(error => (error as RejectedError).hint)).toEqual([
			ERRORS.PROGRAM_NOT_FOUND.hint,
			ERRORS.CWD_UNUSABLE.hint,
		]);
	});

	test('input goes in whole, however large, and comes out the same', async () => {
		const input = randomBytes(3_000_000);
		const result = await run(await machine(), ['/usr/bin/sha256sum'], {input});
		expect(result.stdout.text).toBe(`${createHash('sha256').update(input).digest('hex')}  -\n`);
	});

	test('a command that reads only a little of its input is no failure', async () => {
		const result = await run(await machine(), ['/usr/bin/head', '-n', '1'], {input: endless()});
		expect(result.stdout.text).toBe('line\n');
	});

	test('input that cannot be had ends the command, and its failure is thrown as it is', async () => {
		await expect(run(await machine(), ['/bin/cat'], {input: broken()})).rejects.toThrow(RangeError);
	});

	test('a terminal is one stream of the size asked for', async () => {
		const result = await run(await machine(), ['/usr/bin/stty', 'size'], {tty: {rows: 10, cols: 20}});
		expect([result.stdout.text, result.stderr.text]).toEqual(['10 20\r\n', '']);
	});

	test('a signal from elsewhere is told from an exit', async () => {
		const result = await run(await machine(), shell('kill -9 $$'), {reject: false});
		expect(result).toMatchObject({reason: 'signal', exitCode: 137});
	});

	test('one can talk to a process that runs already', async () => {
		const {process} = await (await machine()).processes.start(
			sh('p', 'read x; echo got $x >&2; exit 2', {pipeStdin: true}),
		);
		const {exit, stdout, stderr} = await communicate(process, {input: 'it\n'});
		expect([exit.exitCode, stdout.text, stderr.text]).toEqual([2, '', 'got it\n']);
	});
});

test('a link that breaks for good is no exit', async () => {
	const {url} = await serving();
	let transport: Transport | undefined;
	const client = await SessionClient.open(
		async signal => {
			transport = await connectWebSocket(url, {signal});
			return transport;
		},
		{recovers: false},
	);
	onTestFinished(() => client.close());
	const machine: ProcessHost = {processes: client, info: async () => client.info!};
	const onOutput = (): void => transport!.destroy();
	const result = await rejection(run(machine, shell('echo begun; sleep 1000'), {onOutput}));
	expect([result.reason, result.exitCode, result.stdout.text]).toEqual(['disconnected', undefined, 'begun\n']);
});

test('a machine that cannot be reached is no exit either', async () => {
	const {Environment} = await import('../../../src/environments/environment.js');
	const environment = Environment.remote('gone', {kind: 'websocket', url: 'ws://127.0.0.1:1'});
	const result = await rejection(run(environment, ['true']));
	expect(result.reason).toBe('disconnected');
	expect(result.error!.message).toContain('failed to connect to exec-server websocket `ws://127.0.0.1:1`');
});

test('a directory that is not absolute is refused before anything happens', async () => {
	const {Environment} = await import('../../../src/environments/environment.js');
	await expect(run(Environment.local(), ['true'], {cwd: 'relative'})).rejects.toThrow('relative');
});
