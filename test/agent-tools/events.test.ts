import {describe, expect, test} from 'vitest';
import type {EndEvent, ExecEvent, OutputDeltaEvent} from '../../src/agent-tools/exec-events.js';
import {MAX_DELTA_BYTES, MAX_DELTAS} from '../../src/agent-tools/exec-limits.js';
import {ExecSession} from '../../src/agent-tools/exec-session.js';
import {Gate} from '../helpers/gate.js';
import {EXEC_ENVIRONMENTS, memoryLink} from './environments.js';
import {altered, running} from './running.js';

const deltas = (events: readonly ExecEvent[]) =>
	events.filter((event): event is OutputDeltaEvent => event.kind === 'outputDelta');
const ends = (events: readonly ExecEvent[]) => events.filter((event): event is EndEvent => event.kind === 'end');
const said = (events: readonly ExecEvent[]) => Buffer.concat(deltas(events).map(({bytes}) => bytes));

describe.each(Object.entries(EXEC_ENVIRONMENTS))('in %s', (_name, open) => {
	test('a command is told from its begin to its end, by the time it is answered', async () => {
		const {exec, events} = await running({environment: await open()});
		await exec.execCommand({cmd: 'echo hi; exit 3', workdir: '/usr'}, {callId: 'call', turnId: 'turn'});
		const facts = {
			callId: 'call',
			processId: '1000',
			turnId: 'turn',
			startedAtMs: expect.any(Number) as number,
			argv: ['/bin/bash', '-c', 'echo hi; exit 3'],
			cwd: '/usr',
			command: 'echo hi; exit 3',
			source: 'unified_exec_startup',
		};
		expect(events).toEqual([
			{kind: 'begin', ...facts},
			{
				kind: 'outputDelta',
				callId: 'call',
				processId: '1000',
				stream: 'stdout',
				bytes: new Uint8Array(Buffer.from('hi\n')),
			},
			{
				kind: 'end',
				...facts,
				stdout: 'hi\n',
				stderr: '',
				aggregatedOutput: 'hi\n',
				exitCode: 3,
				durationMs: expect.any(Number) as number,
				status: 'failed',
			},
		]);
	});
});

test('a command that ends while nobody asks is told all the same, once', async () => {
	const {exec, events, told, begin} = await running();
	const gate = new Gate();
	await begin({cmd: `echo up; ${gate.wait}`});
	gate.open();
	await told(({kind}) => kind === 'end');
	await exec.writeStdin({session_id: 1000});
	expect(ends(events)).toMatchObject([{exitCode: 0, status: 'completed', stdout: 'up\n'}]);
});

test('what is typed is told under the call that started the command, and so is a poll that finds it running', async () => {
	const {exec, events} = await running();
	await exec.execCommand({cmd: 'cat', tty: true, yield_time_ms: 250}, {callId: 'first'});
	await exec.writeStdin({session_id: 1000, chars: 'a\n'}, {callId: 'second'});
	await exec.writeStdin({session_id: 1000}, {callId: 'third', signal: AbortSignal.abort()});
	await exec.terminate(1000);
	const interactions = events.filter(({kind}) => kind === 'interaction');
	const facts = {kind: 'interaction', callId: 'first', processId: '1000'};
	expect(interactions).toEqual([
		{...facts, stdin: 'a\n'},
		{...facts, stdin: ''},
	]);
});

test('a poll that finds the command gone, and a write that fails, are not told', async () => {
	const {exec, events, begin} = await running();
	const gate = new Gate();
	await begin({cmd: `echo up; ${gate.wait}`});
	await exec.writeStdin({session_id: 1000, chars: 'x'});
	const poll = exec.writeStdin({session_id: 1000, yield_time_ms: 300_000});
	gate.open();
	await poll;
	expect(events.map(({kind}) => kind)).toEqual(['begin', 'outputDelta', 'end']);
});

test('what a poll is waiting for is answered before the end is told', async () => {
	const {exec, events, begin} = await running();
	const id = await begin({cmd: 'echo up; read x', tty: true});
	await exec.writeStdin({session_id: id, chars: 'a\n', yield_time_ms: 30_000});
	expect(events.map(({kind}) => kind).filter(kind => kind !== 'outputDelta')).toEqual(['begin', 'interaction', 'end']);
});

test('output is told in pieces of whole characters and a bounded size', async () => {
	const {exec, events} = await running();
	await exec.execCommand({cmd: `head -c 30000 /dev/zero | tr '\\0' x; printf '%.0s€' $(seq 20000)`});
	const strict = new TextDecoder('utf-8', {fatal: true});
	expect(
		deltas(events)
			.map(({bytes}) => strict.decode(bytes))
			.join(''),
	).toBe('x'.repeat(30_000) + '€'.repeat(20_000));
	expect(deltas(events).every(({bytes}) => bytes.length <= MAX_DELTA_BYTES)).toBe(true);
});

test('an unfinished character at the very end is told as it is', async () => {
	const {exec, events} = await running();
	await exec.execCommand({cmd: String.raw`printf 'a\xe2\x82'`});
	expect(said(events)).toEqual(Buffer.from([0x61, 0xe2, 0x82]));
});

test('after ten thousand pieces of output a command is silent, but for its end', async () => {
	const {environment} = await memoryLink();
	const events: ExecEvent[] = [];
	const {process: handle} = await environment.processes.start({
		processId: 'p',
		argv: ['/bin/sh', '-c', 'exit 0'],
		cwd: 'file:///',
		env: {},
		tty: false,
	});
	const total = MAX_DELTAS + 5;
	async function* flood() {
		for (let seq = 1; seq <= total; seq++)
			yield {kind: 'output', seq, stream: 'stdout', bytes: new Uint8Array([120])} as const;
		yield {kind: 'exited', seq: total + 1, exitCode: 0, sandboxDenied: false, reason: undefined} as const;
		yield {kind: 'closed', seq: total + 2} as const;
	}
	const fake = altered(environment, () => ({events: flood}));
	const started = await fake.processes.start({
		processId: 'q',
		argv: ['/bin/true'],
		cwd: 'file:///',
		env: {},
		tty: false,
	});
	const session = new ExecSession({
		id: 1000,
		environment,
		handle: started.process,
		tty: false,
		facts: {
			callId: 'c',
			processId: '1000',
			turnId: undefined,
			startedAtMs: 0,
			argv: [],
			cwd: '/',
			command: '',
			source: 'unified_exec_startup',
		},
		emit: event => events.push(event),
	});
	await session.process.finished;
	session.emitEnd();
	await handle.closed;
	expect(deltas(events)).toHaveLength(MAX_DELTAS);
	expect(ends(events)[0]!.stdout).toHaveLength(total);
});

test('a listener that throws does not disturb the command', async () => {
	const thrown: unknown[] = [];
	const listeners = process.listeners('uncaughtException');
	process.removeAllListeners('uncaughtException');
	const heard = new Promise<void>(resolve => {
		process.on('uncaughtException', error => {
			thrown.push(error);
			if (thrown.length === 2) resolve();
		});
	});
	const {exec} = await running({
		onEvent: event => {
			if (event.kind !== 'outputDelta') throw new Error(event.kind);
		},
	});
	const answer = await exec.execCommand({cmd: 'echo hi'});
	await heard;
	process.removeAllListeners('uncaughtException');
	for (const listener of listeners) process.on('uncaughtException', listener);
	expect(answer.isError).toBe(false);
	expect(thrown).toEqual([new Error('begin'), new Error('end')]);
});
