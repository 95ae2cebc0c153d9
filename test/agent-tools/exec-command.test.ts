import {realpathSync} from 'node:fs';
import {describe, expect, test, vi} from 'vitest';
import {UnifiedExec} from '../../src/agent-tools/unified-exec.js';
import type {StartParams} from '../../src/client/process/process-handle.js';
import {stopClock} from '../helpers/clock.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {waitTicks} from '../helpers/ticks.js';
import {EXEC_ENVIRONMENTS, memoryLink, telling} from './environments.js';
import {altered, running, structured} from './running.js';

describe.each(Object.entries(EXEC_ENVIRONMENTS))('in %s', (_name, open) => {
	test('a command that ends in time is answered with its exit code and all it said', async () => {
		const {exec} = await running({environment: await open()});
		const answer = await exec.execCommand({cmd: 'echo out; echo err >&2; exit 3'});
		const {chunk_id: chunkId, wall_time_seconds: seconds, ...rest} = structured(answer);
		expect(rest).toEqual({exit_code: 3, original_token_count: 2, output: 'out\nerr\n'});
		expect(chunkId).toMatch(/^[\da-f]{6}$/);
		expect(answer.text).toBe(
			`Chunk ID: ${chunkId}\nWall time: ${seconds.toFixed(4)} seconds\nProcess exited with code 3\n` +
				'Original token count: 2\nOutput:\nout\nerr\n',
		);
	});

	test('a command that takes longer is answered with its session number', async () => {
		const {exec, told} = await running({environment: await open()});
		// The first one makes the connection, where there is one.
		await exec.execCommand({cmd: 'true'});
		stopClock();
		let isAnswered = false;
		const answering = exec.execCommand({cmd: 'echo up; exec sleep 1000', yield_time_ms: 1}).finally(() => {
			isAnswered = true;
		});
		await told(({kind}) => kind === 'outputDelta');
		vi.advanceTimersByTime(249);
		await waitTicks();
		expect(isAnswered).toBe(false);
		// A timer may come a little early, so that it is set for a little more.
		vi.advanceTimersByTime(2);
		const answer = structured(await answering);
		expect(answer).toMatchObject({session_id: 1001, output: 'up\n', wall_time_seconds: 0.251});
		expect(answer).not.toHaveProperty('exit_code');
	});

	test('forty commands started at once all get an answer', async () => {
		const {exec} = await running({environment: await open()});
		const answers = await Promise.all(
			Array.from({length: 40}, (_, index) => exec.execCommand({cmd: `echo ${index}`, yield_time_ms: 30_000})),
		);
		expect(answers.map(answer => structured(answer).output)).toEqual(Array.from({length: 40}, (_, n) => `${n}\n`));
	});

	test('standard input is empty without a terminal', async () => {
		const {exec} = await running({environment: await open()});
		const {output} = structured(await exec.execCommand({cmd: 'cat; readlink /proc/self/fd/0'}));
		expect(output).toBe('/dev/null\n');
	});
});

test('a directory is taken as it is, seen from the default one, or the default one', async () => {
	const directory = realpathSync(scratchDirectory());
	const {environment} = await memoryLink();
	const {exec} = await running({environment: telling(environment, {cwd: `file://${directory}`})});
	const pwd = async (workdir?: string) => structured(await exec.execCommand({cmd: 'pwd', workdir})).output;
	await exec.execCommand({cmd: 'mkdir -p "a b"'});
	expect([await pwd(), await pwd(''), await pwd('a b'), await pwd('/usr/share')]).toEqual([
		`${directory}\n`,
		`${directory}\n`,
		`${directory}/a b\n`,
		'/usr/share\n',
	]);
});

test('a start that fails is told to the model, and its number is free again', async () => {
	const numbers: number[] = [];
	const nextSessionId = () => {
		numbers.push(1000);
		return 1000;
	};
	const {exec} = await running({nextSessionId});
	const failed = await exec.execCommand({cmd: 'pwd', workdir: '/nowhere'});
	expect(failed).toEqual({
		isError: true,
		text: String.raw`exec_command failed: CreateProcess { message: "Rejected(\"Failed to create unified exec process: No such file or directory (os error 2)\")" }`,
	});
	expect(structured(await exec.execCommand({cmd: 'echo'})).exit_code).toBe(0);
	expect(numbers).toHaveLength(2);
});

test('a machine that cannot describe itself is a failed start, and asked again the next time', async () => {
	const {environment} = await memoryLink();
	const answers = [() => Promise.reject(new Error('busy')), () => Promise.reject(new Error('busy'))];
	const {exec} = await running({
		environment: {...environment, info: () => (answers.shift() ?? (() => environment.info()))()},
	});
	expect((await exec.execCommand({cmd: 'echo'})).text).toContain('Failed to create unified exec process: busy');
	expect(structured(await exec.execCommand({cmd: 'echo hi'})).output).toBe('hi\n');
});

test('a shell is found by its name; one that is not there is replaced in silence', async () => {
	const {exec} = await running();
	const zero = async (shell?: string) => structured(await exec.execCommand({cmd: 'echo $0', shell})).output.trim();
	const {environment} = await memoryLink();
	const {shell} = await environment.info();
	expect(await zero()).toBe(shell.path);
	expect(await zero('sh')).toMatch(/^\/(?:usr\/)?bin\/sh$/);
	expect(await zero('/bin/sh')).toBe('/bin/sh');
	expect(await zero('/nowhere/sh')).toMatch(/^\/(?:usr\/)?bin\/sh$/);
	expect(await zero('fish')).toBe('/bin/sh');
	expect(await zero('/nowhere/pwsh')).toBe('/bin/sh');
});

test('a remote machine has the shell that it reports, or none', async () => {
	const {environment} = await memoryLink();
	const remote = {...environment, kind: 'remote' as const, id: 'far'};
	const {exec} = await running({environment: telling(remote, {shell: {name: 'bash', path: '/bin/bash'}})});
	expect(structured(await exec.execCommand({cmd: 'echo $0', shell: '/usr/local/bin/bash'})).output).toBe('/bin/bash\n');
	expect((await exec.execCommand({cmd: 'echo', shell: 'zsh'})).text).toBe('environment `far` only supports `bash`');
	const {exec: bare} = await running({environment: telling(remote, {shell: {name: '', path: ''}})});
	expect((await bare.execCommand({cmd: 'echo'})).text).toBe('environment `far` does not report a shell');
});

test('a login shell is the default where it is allowed, and refused where it is not', async () => {
	const starts: StartParams[] = [];
	const {environment} = await memoryLink();
	const {exec} = await running({environment: altered(environment, () => ({}), starts), loginShells: true});
	await exec.execCommand({cmd: 'echo'});
	await exec.execCommand({cmd: 'echo', login: false});
	expect(starts.map(({argv}) => argv[1])).toEqual(['-lc', '-c']);
	const {exec: forbidding} = await running({loginShells: false});
	expect((await forbidding.execCommand({cmd: 'echo', login: true})).text).toBe(
		'login shell is disabled by config; omit `login` or set it to false.',
	);
});

test('programs are told not to colour, page or localise, on a terminal too', async () => {
	const {exec} = await running({threadId: 'thread', sessionId: 'session', env: undefined});
	const names = 'NO_COLOR TERM LANG LC_CTYPE LC_ALL COLORTERM PAGER GIT_PAGER GH_PAGER CODEX_CI';
	const cmd = `for n in ${names} CODEX_THREAD_ID CODEX_SESSION_ID CODEX_TOOL_CALL_ID; do eval "echo \\$$n"; done`;
	const values = [
		'1',
		'dumb',
		'C.UTF-8',
		'C.UTF-8',
		'C.UTF-8',
		'',
		'cat',
		'cat',
		'cat',
		'1',
		'thread',
		'session',
		'me',
	];
	const answers = await Promise.all([false, true].map(tty => exec.execCommand({cmd, tty}, {callId: 'me'})));
	expect(answers.map(answer => structured(answer).output.trimEnd().split(/\r?\n/))).toEqual([values, values]);
});

test('a call chooses among several machines, the first one by default', async () => {
	const environments = [
		{...(await memoryLink()).environment, id: 'one'},
		telling({...(await memoryLink()).environment, id: 'two'}, {cwd: 'file:///usr'}),
	];
	const {exec} = await running({environments});
	expect(structured(await exec.execCommand({cmd: 'pwd', environment_id: 'two'})).output).toBe('/usr\n');
	expect(structured(await exec.execCommand({cmd: 'pwd'})).output).not.toBe('/usr\n');
	expect((await exec.execCommand({cmd: 'pwd', environment_id: 'three'})).text).toBe(
		'unknown turn environment id `three`',
	);
	expect(Object.keys(exec.toolSpecs()[0].inputSchema.properties!)).toContain('environment_id');
});

test('without a machine nothing can be run', async () => {
	await using exec = new UnifiedExec({});
	expect(await exec.execCommand({cmd: 'echo'})).toEqual({
		isError: true,
		text: 'unified exec is unavailable in this session',
	});
});

test('a tool nobody knows is an answer, not an error of ours', async () => {
	const {exec} = await running();
	expect(await exec.call('nosuch', {a: 1})).toEqual({isError: true, text: 'unsupported call: nosuch'});
	expect(structured(await exec.call('exec_command', '{"cmd":"echo hi"}')).output).toBe('hi\n');
});

test('programs get all output unless they said how much they want', async () => {
	const {exec} = await running({modelPolicy: {bytes: 100}});
	const cmd = 'seq 1 1000';
	const all = await exec.execCommand({cmd});
	expect(structured(all).output).toHaveLength(3893);
	expect(all.text).toContain('chars truncated');
	const some = structured(await exec.execCommand({cmd, max_output_tokens: 10}));
	expect(some.output).toMatch(/^Warning: truncated output \(original token count: 974\)\n[^]*…964 tokens truncated…/);
});

test('an aborted call answers with what there is, and the command goes on', async () => {
	const {exec, told} = await running();
	const controller = new AbortController();
	const answer = exec.execCommand(
		{cmd: 'echo up; exec sleep 1000', yield_time_ms: 30_000},
		{signal: controller.signal},
	);
	await told(({kind}) => kind === 'outputDelta');
	controller.abort();
	expect(structured(await answer)).toMatchObject({session_id: 1000, output: 'up\n'});
	expect(exec.list()).toHaveLength(1);
});
