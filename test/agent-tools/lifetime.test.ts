import {describe, expect, onTestFinished, test} from 'vitest';
import {isAlive, untilDead} from '../helpers/processes.js';
import {EXEC_ENVIRONMENTS} from './environments.js';
import {running, structured} from './running.js';

const pidsIn = (text: string) => text.trim().split(/\s+/).map(Number);

describe.each(Object.entries(EXEC_ENVIRONMENTS))('in %s', (_name, open) => {
	test('closing ends every session, and nothing can be run afterwards', async () => {
		const {exec, events, begin} = await running({environment: await open()});
		for (const cmd of ['echo $$; exec sleep 1000', 'sleep 1000 & echo $$ $!; wait']) await begin({cmd});
		const said = events.map(event => (event.kind === 'outputDelta' ? Buffer.from(event.bytes).toString() : ''));
		await exec.close();
		const pids = pidsIn(said.join(''));
		expect(pids).toHaveLength(3);
		await untilDead(...pids);
		expect(exec.list()).toEqual([]);
		expect(events.filter(({kind}) => kind === 'end')).toHaveLength(2);
		expect((await exec.execCommand({cmd: 'echo'})).text).toBe('unified exec is unavailable in this session');
		expect((await exec.writeStdin({session_id: 1000})).text).toBe('write_stdin failed: Unknown process id 1000');
	});

	test('what a finished command leaves in the background goes on', async () => {
		const {exec} = await running({environment: await open()});
		const [pid] = pidsIn(structured(await exec.execCommand({cmd: 'sleep 1000 & echo $!'})).output);
		onTestFinished(() => void process.kill(pid!));
		await exec.close();
		expect(isAlive(pid!)).toBe(true);
	});
});

test('sessions that run are listed by number', async () => {
	const numbers = [1005, 1001];
	const {exec} = await running({nextSessionId: () => numbers.shift()!});
	await exec.execCommand({cmd: 'exec sleep 1000', yield_time_ms: 250, workdir: '/usr'}, {callId: 'a'});
	await exec.execCommand({cmd: 'cat', yield_time_ms: 250, workdir: '/', tty: true}, {callId: 'b'});
	expect(exec.list()).toEqual([
		{sessionId: 1001, callId: 'b', command: 'cat', cwd: '/', tty: true, environmentId: 'local'},
		{sessionId: 1005, callId: 'a', command: 'exec sleep 1000', cwd: '/usr', tty: false, environmentId: 'local'},
	]);
});

test('a terminated session is gone, and its end is told', async () => {
	const {exec, told, begin} = await running();
	const id = await begin({cmd: 'echo up; exec sleep 1000'});
	expect([await exec.terminate(id), await exec.terminate(id), await exec.terminate(5)]).toEqual([true, false, false]);
	expect(await told(({kind}) => kind === 'end')).toMatchObject({exitCode: 137, stdout: 'up\n'});
	expect((await exec.writeStdin({session_id: id})).text).toBe(`write_stdin failed: Unknown process id ${id}`);
});

test('a poll on a session that is terminated answers with the exit', async () => {
	const {exec, begin} = await running();
	const id = await begin({cmd: 'echo up; exec sleep 1000'});
	const poll = exec.writeStdin({session_id: id});
	await exec.terminate(id);
	expect(structured(await poll).exit_code).toBe(137);
});

test('a call that started a session which is terminated meanwhile answers with the exit', async () => {
	const {exec, told} = await running();
	const answer = exec.execCommand({cmd: 'echo up; exec sleep 1000', yield_time_ms: 30_000});
	await told(({kind}) => kind === 'outputDelta');
	await exec.terminate(1000);
	expect(structured(await answer)).toMatchObject({exit_code: 137, output: 'up\n'});
});

test.each([{strictCompat: false}, {strictCompat: true}])(
	'a command that is being started at the close does not outlive it (%o)',
	async options => {
		const {exec, told} = await running(options);
		const answer = exec.execCommand({cmd: 'echo $$; exec sleep 1000'});
		if (options.strictCompat) await told(({kind}) => kind === 'outputDelta');
		await exec.close();
		expect((await answer).text).toBe('unified exec is unavailable in this session');
		expect(await told(({kind}) => kind === 'end')).toMatchObject({exitCode: 137});
	},
);
