import {spawnSync} from 'node:child_process';
import {describe, expect, test} from 'vitest';
import {MAX_REPORTED_BYTES} from '../../src/cli/commands/run/attach/json-report.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {serving} from '../helpers/serving.js';
import {CLI_TARGETS} from '../helpers/transports.js';

async function report(
	...args: string[]
): Promise<{code: number | null; json: Record<string, unknown>; stderr: string}> {
	const {code, stdout, stderr} = await run(['run', '--json', ...args]);
	return {code, json: JSON.parse(stdout) as Record<string, unknown>, stderr};
}

describe.each(Object.entries(CLI_TARGETS))('on %s', (_name, target) => {
	test('run --json prints output and end as one object, and exits as the command does', async () => {
		const {code, json, stderr} = await report(...(await target()), '--', 'sh', '-c', 'echo out; echo err >&2; exit 3');
		expect([code, stderr]).toEqual([3, '']);
		expect(json).toEqual({
			exitCode: 3,
			reason: 'exit',
			stdout: 'out\n',
			stdoutBytes: 4,
			stderr: 'err\n',
			stderrBytes: 4,
			truncated: false,
			durationMs: expect.any(Number) as number,
		});
	});

	test('run -n leaves the input alone', async () => {
		const command = new Command(['run', '-n', ...(await target()), '--', 'cat']);
		// The input is open until the command is over.
		expect(await command.ended).toEqual({code: 0, signal: null});
	});
});

test('run --json names signals, time limits, programs that are missing and servers that are', async () => {
	const {url} = await serving();
	const where = ['-e', url];
	const killed = await report(...where, '--', 'sh', '-c', 'kill -TERM $$');
	expect([killed.code, killed.json]).toEqual([143, expect.objectContaining({reason: 'signal', signal: 'SIGTERM'})]);
	const late = await report(...where, '--timeout', '50ms', '--', 'sleep', '1000');
	expect([late.code, late.json]).toEqual([124, expect.objectContaining({reason: 'timeout', exitCode: 143})]);
	const missing = await report(...where, '--', 'no-such-program');
	const said = {reason: 'spawn', exitCode: null, error: 'no-such-program: not found'};
	expect([missing.code, missing.json]).toEqual([127, expect.objectContaining(said)]);
	const gone = await report('-e', 'ws://127.0.0.1:1', '--', 'true');
	const lost = {reason: 'disconnected', exitCode: null, error: expect.stringContaining('127.0.0.1:1') as string};
	expect([gone.code, gone.json]).toEqual([125, expect.objectContaining(lost)]);
});

test('run --json keeps bytes that are no text, and the beginning and the end of what is too much', async () => {
	const bytes = await report('--', 'printf', String.raw`a\377b`);
	expect(bytes.json).toMatchObject({stdout: 'Yf9i', stdoutEncoding: 'base64', stdoutBytes: 3});
	const size = MAX_REPORTED_BYTES + 3;
	// Characters of three bytes, so that some are cut where the middle is missing.
	const script = `process.stdout.write('\u20ac'.repeat(${size}))`;
	const {json} = await report('--', process.execPath, '-e', script);
	expect(json).toMatchObject({truncated: true, stdoutBytes: 3 * size});
	expect(json['stdout']).toMatch(/^\u20ac+\n\.\.\. \d+ bytes omitted \.\.\.\n\u20ac+$/);
	expect(Buffer.byteLength(json['stdout'] as string)).toBeLessThan(MAX_REPORTED_BYTES + 100);
});

test('exec is run, with its help and its exit codes', async () => {
	expect(await run(['exec', '--', 'sh', '-c', 'exit 7'])).toMatchObject({code: 7});
	expect((await run(['exec', '--help'])).stdout).toMatch(/^Usage: longarm run\|exec /);
	expect((await run(['help', 'exec'])).stdout).toMatch(/^Usage: longarm run\|exec /);
	expect((await run(['exec', '--no-such'])).code).toBe(125);
});

test('a loop keeps its input with run -n', () => {
	const loop = `while read line; do '${process.execPath}' '${PROGRAM}' run -n -- echo "$line"; done`;
	const {stdout} = spawnSync('sh', ['-c', loop], {input: 'one\ntwo\n', encoding: 'utf8'});
	expect(stdout).toBe('one\ntwo\n');
});

test.each([['--json'], ['-n']])('--tty and %s exclude each other', async option => {
	const {code, stderr} = await run(['run', '--tty', option, '--', 'true']);
	expect([code, stderr]).toEqual([125, expect.stringMatching(/^error: --tty and .* exclude each other/)]);
});
