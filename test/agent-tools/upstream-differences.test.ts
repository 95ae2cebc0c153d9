// covers: src/agent-tools/unified-exec.ts, src/agent-tools/observed-process.ts, src/agent-tools/exec-limits.ts
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import type {ExecEnvironment} from '../../src/agent-tools/exec-environment.js';
import {CLOSE_GRACE_MS, EARLY_EXIT_WAIT_MS} from '../../src/agent-tools/exec-limits.js';
import type {TerminateResult} from '../../src/client/process/process-handle.js';
import {SessionClient} from '../../src/client/session/session-client.js';
import {MAX_KEPT_BYTES} from '../../src/shared/head-tail-buffer.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {stopClock} from '../helpers/clock.js';
import {Gate} from '../helpers/gate.js';
import {eventually, isAlive} from '../helpers/processes.js';
import {execServer} from '../helpers/serving.js';
import {waitTicks} from '../helpers/ticks.js';
import {EXEC_ENVIRONMENTS, memoryLink, type OpenEnvironment, webSocketLink} from './environments.js';
import {altered, type Running, running, structured} from './running.js';

/** An environment, and the exits of all that is started in it. */
async function exiting(open: OpenEnvironment): Promise<{environment: ExecEnvironment; exits: Promise<unknown>[]}> {
	const exits: Promise<unknown>[] = [];
	const environment = altered(await open(), ({exited}) => {
		exits.push(exited);
		return {};
	});
	return {environment, exits};
}

describe.each(Object.entries(EXEC_ENVIRONMENTS))('in %s', (_name, open) => {
	test.each([false, true])(
		'a child that holds the output open keeps nobody waiting once the exit is known (tty: %s)',
		async tty => {
			const {environment, exits} = await exiting(open);
			const {exec} = await running({environment});
			const cmd = "trap '' HUP; sleep 1000 & echo $!";
			stopClock();
			const answering = exec.execCommand({cmd, tty});
			await eventually(() => exits.length === 1);
			await exits[0];
			await waitTicks();
			vi.advanceTimersByTime(CLOSE_GRACE_MS);
			const answer = structured(await answering);
			const pid = Number(answer.output);
			onTestFinished(() => void process.kill(pid));
			expect(answer).toMatchObject({exit_code: 0, output: `${pid}${tty ? '\r\n' : '\n'}`});
			expect(isAlive(pid)).toBe(true);
		},
	);

	test('output that keeps coming after the exit is still part of the answer, for a while', async () => {
		const {environment, exits} = await exiting(open);
		const {exec, told} = await running({environment, closeGraceMs: 300});
		const gate = new Gate();
		/** A shell that is over and has left one behind, which says what it is given. */
		const start = async (exitCode: number) => {
			const cmd = `echo up; (while ${gate.wait} && test $x != end; do echo $x; done) & exit ${exitCode}`;
			const callId = `call ${exitCode}`;
			const answer = exec.execCommand({cmd}, {callId});
			await told(event => event.kind === 'outputDelta' && event.callId === callId);
			await exits.at(-1);
			await waitTicks();
			return {answer};
		};
		/** The grace begins anew with every line. */
		const say = async (line: string) => {
			gate.open(line);
			await told(event => event.kind === 'outputDelta' && Buffer.from(event.bytes).includes(`${line}\n`));
			vi.advanceTimersByTime(299);
		};
		stopClock();
		const few = await start(7);
		for (const line of ['a', 'b', 'c']) await say(line);
		gate.open('end');
		expect(structured(await few.answer)).toMatchObject({exit_code: 7, output: 'up\na\nb\nc\n'});
		const endless = await start(8);
		for (const line of ['d', 'e', 'f', 'g']) await say(line);
		expect(structured(await endless.answer)).toMatchObject({exit_code: 8, output: 'up\nd\ne\nf\ng\n'});
		gate.open('end');
	});
});

test('the clock runs from the spawn, and a command that ends early is answered at once', async () => {
	const {exec} = await running();
	const gate = new Gate();
	// A window that nothing ends.
	stopClock();
	await exec.execCommand({cmd: 'echo'});
	const took = async ({exec: timed, told}: Running) => {
		const answer = timed.execCommand({cmd: `echo up; ${gate.wait}`});
		await told(({kind}) => kind === 'outputDelta');
		vi.advanceTimersByTime(EARLY_EXIT_WAIT_MS + 1);
		await waitTicks();
		vi.advanceTimersByTime(1000);
		gate.open();
		return structured(await answer).wall_time_seconds;
	};
	expect(await took(await running())).toBe(1.151);
	expect(await took(await running({strictCompat: true}))).toBe(1);
});

test('while the executor cannot be reached a poll says so, and later what was missed', async () => {
	const link = await webSocketLink();
	const {exec, begin, told} = await running({environment: link.environment});
	const id = await begin({cmd: 'echo up; while :; do read x; echo got $x; done', tty: true});
	link.isCut = true;
	link.transports.at(-1)!.destroy();
	const away = await exec.writeStdin({session_id: id, chars: 'a\n'});
	expect(structured(away)).toMatchObject({session_id: id, executor: 'executor disconnected, reconnecting'});
	expect(away.text).toContain(`session ID ${id}\nexecutor disconnected, reconnecting\nOriginal token count: 0\n`);
	link.isCut = false;
	await link.client.repeat('environment/status', {});
	const controller = new AbortController();
	const poll = exec.writeStdin({session_id: id, yield_time_ms: 300_000}, controller);
	await told(event => event.kind === 'outputDelta' && Buffer.from(event.bytes).includes('got a\r\n'));
	controller.abort();
	const back = await poll;
	expect(structured(back)).toMatchObject({session_id: id, output: 'a\r\ngot a\r\n'});
	expect(structured(back)).not.toHaveProperty('executor');
});

test('a session whose executor does not come back ends as failed, with what it had said', async () => {
	const link = await webSocketLink({recoveryBudgetMs: 300});
	const {exec, begin, told} = await running({environment: link.environment});
	const id = await begin({cmd: 'echo up; exec sleep 1000'});
	link.isCut = true;
	link.transports.at(-1)!.destroy();
	const lost = await exec.writeStdin({session_id: id});
	const reason = /^Unified exec process failed: exec-server transport disconnected.*recovery timed out after 0\.3s$/;
	expect(lost.text).toMatch(reason);
	expect(lost).toMatchObject({isError: true, structured: {output: ''}});
	expect(lost.structured!.failure).toContain('recovery timed out');
	expect(await told(({kind}) => kind === 'end')).toMatchObject({
		exitCode: -1,
		status: 'failed',
		stdout: 'up\n',
		stderr: lost.structured!.failure,
		aggregatedOutput: `up\n\n${lost.structured!.failure}`,
	});
	expect((await exec.writeStdin({session_id: id})).text).toBe(`write_stdin failed: Unknown process id ${id}`);
	const next = await exec.execCommand({cmd: 'echo'});
	expect(next.text).toMatch(/^exec_command failed: CreateProcess .*recovery timed out after 0\.3s/);
});

test.each(Object.entries(EXEC_ENVIRONMENTS))(
	'every byte of a flood is in the transcript or counted, in %s',
	async (_name, open) => {
		const {exec, told} = await running({environment: await open()});
		// Many small writes: more than any queue of events holds.
		const cmd = `awk 'BEGIN {for (i = 0; i < 200000; i++) {printf "%09d\\n", i; if (i % 10 == 0) fflush()}}'`;
		const answer = structured(await exec.execCommand({cmd, yield_time_ms: 30_000}));
		const end = await told(({kind}) => kind === 'end');
		const omitted = 2_000_000 - MAX_KEPT_BYTES;
		const all = Array.from({length: 200_000}, (_, index) => `${String(index).padStart(9, '0')}\n`).join('');
		const half = MAX_KEPT_BYTES / 2;
		const kept = `${all.slice(0, half)}\n... ${omitted} bytes omitted ...\n${all.slice(-half)}`;
		expect(answer.original_token_count).toBe(500_000);
		expect(answer.output === kept).toBe(true);
		expect(end.kind === 'end' && end.stdout === kept).toBe(true);
	},
);

test('a signal on a terminal is told as 128 and its number; as 1 in strict-compat', async () => {
	const codes = [];
	for (const strictCompat of [false, true]) {
		const {exec, begin} = await running({strictCompat});
		const id = await begin({cmd: 'echo up; read x', tty: true});
		codes.push(structured(await exec.writeStdin({session_id: id, chars: '\u0003', yield_time_ms: 30_000})).exit_code);
		codes.push(structured(await exec.execCommand({cmd: "trap 'exit 9' TERM; kill $$", tty: true})).exit_code);
	}
	expect(codes).toEqual([130, 9, 1, 9]);
});

/** An executor with secrets among its own variables. */
async function withSecrets(): Promise<ExecEnvironment> {
	const server = execServer({variables: {...process.env, MODEL_API_KEY: 'k', MY_TOKEN: 't', PLAIN: 'p'}});
	const client = await SessionClient.open(async () => {
		const [near, far] = memoryTransportPair();
		server.accept(far);
		return near;
	});
	onTestFinished(async () => {
		client.close();
		await client.ended;
	});
	return {id: 'local', processes: client, info: () => client.call('environment/info', {})};
}

test('variables that look like secrets can be withheld, and any others', async () => {
	const environment = await withSecrets();
	const seen = async (options: object) => {
		const {exec} = await running({environment, ...options});
		return structured(await exec.execCommand({cmd: 'echo $MODEL_API_KEY $MY_TOKEN $PLAIN'})).output;
	};
	expect(await seen({})).toBe('k t p\n');
	expect(await seen({excludeSecrets: true})).toBe('p\n');
	expect(await seen({envPolicy: {exclude: ['PLAIN', 'model_*']}})).toBe('t\n');
});

test('an executor is not asked to end what has ended; in strict-compat it is, after every command', async () => {
	const counts = [];
	for (const strictCompat of [false, true]) {
		const {environment} = await memoryLink();
		const ended: Promise<TerminateResult>[] = [];
		const counting = altered(environment, handle => ({
			terminate: mode => {
				const result = handle.terminate(mode);
				ended.push(result);
				return result;
			},
		}));
		const {exec, begin} = await running({environment: counting, strictCompat});
		await exec.execCommand({cmd: 'echo'});
		const id = await begin({cmd: 'echo up; read x', tty: true});
		await exec.writeStdin({session_id: id, chars: '\n', yield_time_ms: 30_000});
		await exec.close();
		counts.push(await Promise.all(ended));
	}
	expect(counts).toEqual([[], [{running: false}, {running: false}]]);
});
