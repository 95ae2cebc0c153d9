import {describe, expect, test, vi} from 'vitest';
import type {ToolAnswer} from '../../src/agent-tools/tool-answer.js';
import type {WriteResult} from '../../src/client/process/process-handle.js';
import {RejectedError} from '../../src/client/session/client-errors.js';
import {RpcError} from '../../src/protocol/wire/error-codes.js';
import {DisconnectedError} from '../../src/rpc/disconnected-error.js';
import {stopClock} from '../helpers/clock.js';
import {Gate} from '../helpers/gate.js';
import {waitTicks} from '../helpers/ticks.js';
import {EXEC_ENVIRONMENTS, memoryLink} from './environments.js';
import {altered, running, structured} from './running.js';

const CAT = {cmd: 'cat', tty: true, yield_time_ms: 250};
/** No poll that waits for something comes to the end of it. */
const PATIENT = {yield_time_ms: 300_000};

describe.each(Object.entries(EXEC_ENVIRONMENTS))('in %s', (_name, open) => {
	test('what is typed on a terminal is answered, and what was said is told once', async () => {
		const {exec, begin, told} = await running({environment: await open()});
		const id = await begin({cmd: 'stty -echo; echo up; while read x; do echo got $x; done', tty: true});
		const typed = async (line: string): Promise<string> => {
			const controller = new AbortController();
			const answer = exec.writeStdin({session_id: id, chars: `${line}\n`, yield_time_ms: 30_000}, controller);
			await told(event => event.kind === 'outputDelta' && Buffer.from(event.bytes).includes(`got ${line}`));
			controller.abort();
			return structured(await answer).output;
		};
		expect([await typed('a'), await typed('b')]).toEqual(['got a\r\n', 'got b\r\n']);
	});

	test('without a terminal only an interrupt gets through', async () => {
		const {exec, begin} = await running({environment: await open()});
		await begin({cmd: 'echo READY; exec sleep 1000'});
		expect((await exec.writeStdin({session_id: 1000, chars: 'x'})).text).toBe(
			'write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open',
		);
		expect(structured(await exec.writeStdin({session_id: 1000, chars: '\u0003', ...PATIENT})).exit_code).toBe(130);
		expect((await exec.writeStdin({session_id: 1000})).text).toBe('write_stdin failed: Unknown process id 1000');
	});
});

test('a poll ends with the command, and the session is gone then', async () => {
	const {exec, begin} = await running();
	const gate = new Gate();
	await begin({cmd: `echo up; ${gate.wait}; echo z`});
	const poll = exec.writeStdin({session_id: 1000, ...PATIENT});
	gate.open();
	expect(structured(await poll)).toMatchObject({exit_code: 0, output: 'z\n'});
	expect((await exec.writeStdin({session_id: 1000})).text).toBe('write_stdin failed: Unknown process id 1000');
});

test('of two polls at once the first one gets the exit, the other one comes too late', async () => {
	const {exec, begin} = await running();
	const gate = new Gate();
	await begin({cmd: `echo up; ${gate.wait}`});
	const polls = [1, 2].map(() => exec.writeStdin({session_id: 1000, ...PATIENT}));
	gate.open();
	const [first, second] = (await Promise.all(polls)) as [ToolAnswer, ToolAnswer];
	expect(structured(first).exit_code).toBe(0);
	expect(second.text).toBe('write_stdin failed: Unknown process id 1000');
});

test('sessions do not wait for each other', async () => {
	const {exec, begin} = await running();
	const gate = new Gate();
	await begin({cmd: 'echo up; exec sleep 1000'});
	await begin({cmd: `echo up; ${gate.wait}`});
	const order: number[] = [];
	const slow = exec.writeStdin({session_id: 1000, ...PATIENT}).then(() => order.push(1000));
	const quick = exec.writeStdin({session_id: 1001, ...PATIENT}).then(() => order.push(1001));
	gate.open();
	await quick;
	expect(order).toEqual([1001]);
	await exec.terminate(1000);
	await slow;
	expect(order).toEqual([1001, 1000]);
});

test('a poll answers after its window with what was said meanwhile', async () => {
	const {exec, begin, told} = await running({maxPollMs: 1});
	const gate = new Gate();
	await begin({cmd: `echo up; ${gate.wait}; echo later; exec sleep 1000`});
	stopClock();
	let isAnswered = false;
	const poll = exec.writeStdin({session_id: 1000, ...PATIENT}).finally(() => {
		isAnswered = true;
	});
	gate.open();
	await told(event => event.kind === 'outputDelta' && Buffer.from(event.bytes).includes('later'));
	vi.advanceTimersByTime(4999);
	await waitTicks();
	expect(isAnswered).toBe(false);
	// A timer may come a little early, so that it is set for a little more.
	vi.advanceTimersByTime(2);
	const polled = structured(await poll);
	expect(polled).toMatchObject({session_id: 1000, output: 'later\n', wall_time_seconds: 5.001});
});

/** A terminal whose writes come to this. */
async function writing(write: () => Promise<WriteResult>) {
	const {environment} = await memoryLink();
	let terminations = 0;
	const changes = altered(environment, handle => ({
		write,
		terminate: mode => {
			terminations++;
			return handle.terminate(mode);
		},
	}));
	const {exec} = await running({environment: changes});
	await exec.execCommand(CAT);
	const answer = await exec.writeStdin({session_id: 1000, chars: 'x'});
	return {exec, answer, terminations: () => terminations};
}

test.each(['unknownProcess', 'stdinClosed'] as const)(
	'a write answered with %s means that the process is gone',
	async status => {
		const {exec, answer} = await writing(async () => ({status}));
		expect(structured(answer).exit_code).toBe(-1);
		expect(exec.list()).toEqual([]);
	},
);

test('an exit whose news comes after a refused write is told with its code', async () => {
	const {environment} = await memoryLink();
	const changes = altered(environment, handle => ({
		write: async () => {
			handle.terminate().catch(() => {});
			return {status: 'stdinClosed'};
		},
	}));
	const {exec} = await running({environment: changes});
	await exec.execCommand(CAT);
	// The news has as long as it needs.
	stopClock();
	expect(structured(await exec.writeStdin({session_id: 1000, chars: 'x'})).exit_code).toBe(137);
});

test('a write to a process that is being started fails, and the session stays', async () => {
	const {exec, answer} = await writing(async () => ({status: 'starting'}));
	expect(answer.text).toBe('write_stdin failed: failed to write to stdin');
	expect(exec.list()).toHaveLength(1);
});

test('a write that is refused fails, and the session stays', async () => {
	const {exec, answer} = await writing(() => Promise.reject(new RejectedError(new RpcError(-32603, 'full'))));
	expect(answer.text).toBe('write_stdin failed: failed to write to stdin');
	expect(exec.list()).toHaveLength(1);
});

test('a write that is lost with the link ends the session', async () => {
	const {exec, answer, terminations} = await writing(() => Promise.reject(new DisconnectedError()));
	expect(answer.text).toBe('write_stdin failed: failed to write to stdin');
	expect(exec.list()).toEqual([]);
	expect(terminations()).toBe(1);
	expect((await exec.writeStdin({session_id: 1000})).text).toBe('write_stdin failed: Unknown process id 1000');
});
