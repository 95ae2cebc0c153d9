import {describe, expect, test} from 'vitest';
import {toColouredLine} from '../../src/cli/commands/screen/coloured-line.js';
import {parseMoment} from '../../src/cli/common/times.js';
import {withTimeEnough} from '../helpers/clock.js';
import {run} from '../helpers/command.js';
import {ProcessServer} from '../helpers/process-server.js';

describe('wait', () => {
	test('the first condition that is met is told, and its exit code is 0', async () => {
		const server = await ProcessServer.start();
		const script = 'echo listening on 8080; sleep 1000';
		await server.detached('--name', 'web', '--', 'sh', '-c', script);
		expect(await server.longarm('wait', 'web', '--text', String.raw`listening on (\d+)`, '--exit')).toMatchObject({
			code: 0,
			stdout: 'text: listening on 8080\n',
		});
		const json = await server.longarm('wait', '--json', 'web', '--text', String.raw`on (\d+)(x)?`);
		expect(JSON.parse(json.stdout)).toEqual({by: 'text', match: 'on 8080', groups: ['8080', null]});
		const port = new URL(server.url).port;
		expect(await server.longarm('wait', 'web', '--port', port)).toMatchObject({
			code: 0,
			stdout: `listens on port ${port}\n`,
		});
		expect(await server.longarm('wait', 'web', '--silence', '50ms')).toMatchObject({code: 0, stdout: 'silent\n'});
	});

	test('a time limit and an end that came first have codes of their own', async () => {
		const server = await ProcessServer.start();
		const id = await server.detached('--', 'sleep', '1000');
		const late = await server.longarm('wait', id, '--timeout', '20ms');
		expect([late.code, late.stdout]).toEqual([124, '']);
		expect(late.stderr).toMatch(/^error: it has not happened within 20 ms\n$/);
		await server.longarm('stop', id);
		const over = await server.longarm('wait', id, '--text', 'never', '--json');
		expect(over.code).toBe(125);
		expect(JSON.parse(over.stdout)).toMatchObject({by: 'ended'});
		expect(await server.longarm('wait', id)).toMatchObject({code: 143, stdout: 'ended with code 143\n'});
	});

	test('a process that asks for a password is told from one that asks for a name', async () => {
		const server = await ProcessServer.start();
		await server.detached('--name', 'name', '--tty', '--', 'sh', '-c', 'printf "name: "; read name');
		await server.detached('--name', 'word', '--tty', '--', 'sh', '-c', 'stty -echo; printf "word: "; read word');
		const waits = (name: string) =>
			withTimeEnough(async limitMs => {
				const {code, stdout} = await server.longarm('wait', name, '--input', '--json', '--timeout', `${limitMs}ms`);
				return code === 124 ? undefined : {code, ...(JSON.parse(stdout) as object)};
			});
		expect(await waits('name')).toMatchObject({code: 0, by: 'input', waitingFor: 'input'});
		expect(await waits('word')).toMatchObject({code: 0, by: 'input', waitingFor: 'password'});
	});

	test('Ctrl-C ends the wait, and not the process', async () => {
		const server = await ProcessServer.start();
		const id = await server.detached('--', 'sleep', '1000');
		const clients = server.clients;
		const terminal = await server.onTerminal('wait', id);
		await server.server.until(() => server.clients > clients, 'its connection');
		await terminal.type('\u0003');
		expect((await terminal.ended).exitCode).toBe(130);
		expect(await server.list()).toMatchObject([{state: 'running'}]);
	});

	test.each<[string[], string]>([
		[['--text', '['], '--text [: Invalid regular expression'],
		[['--port', '0'], '--port 0: expected a port from 1 to 65535'],
		[['--port', '99999'], '--port 99999: expected a whole number'],
		[['--silence', 'long'], '--silence long: expected a time such as 30s'],
		[['--timeout', '5x'], '--timeout 5x: expected a time such as 30s'],
	])('wait %j is misused: the exit code is none of a process', async (options, message) => {
		const {code, stdout, stderr} = await run(['wait', '-e', 'ws://127.0.0.1:1', 'id', ...options]);
		expect([code, stdout]).toEqual([125, '']);
		expect(stderr).toContain(`error: ${message}`);
	});
});

describe('screen', () => {
	test('the screen of a terminal is printed as text, with colours and for programs', async () => {
		const server = await ProcessServer.start();
		const script = String.raw`printf 'one\r\n\033[31mtwo\033[0m'; read line`;
		await server.detached('--name', 'tui', '--tty', '--', 'sh', '-c', script);
		await server.longarm('wait', 'tui', '--text', 'two');
		expect(await server.longarm('screen', 'tui')).toMatchObject({code: 0, stdout: 'one\ntwo\n', stderr: ''});
		expect((await server.longarm('screen', 'tui', '--ansi')).stdout).toBe('one\n\u001B[0;31mtwo\u001B[0m\n');
		const {stdout} = await server.longarm('screen', 'tui', '--json');
		expect(JSON.parse(stdout)).toMatchObject({rows: 24, cols: 80, cursor: {row: 1, col: 3}, alternate: false});
	});

	test('a past moment is counted from the start of the process, or from now', async () => {
		const server = await ProcessServer.start();
		await server.detached('--name', 'tui', '--tty', '--', 'sh', '-c', 'echo before; read line');
		await server.longarm('wait', 'tui', '--text', 'before');
		expect((await server.longarm('screen', 'tui', '--at', '+1h')).stdout).toBe('before\n');
		expect((await server.longarm('screen', 'tui', '--at', '2100-01-01')).stdout).toBe('before\n');
		expect((await server.longarm('screen', 'tui', '--at', '1h')).stdout).toBe('');
	});

	test('a process without a terminal has no screen', async () => {
		const server = await ProcessServer.start();
		const id = await server.detached('--', 'sleep', '1000');
		const {code, stderr} = await server.longarm('screen', id);
		expect(code).toBe(1);
		expect(stderr).toMatch(/^error: process \S+ has no terminal\nhint: .*\n$/);
	});

	test('only colours of a line reach a terminal', () => {
		expect(toColouredLine('a\u001B[1;38:5:9mb\u001B[0m\u001B[2J\u001B]0;x\u0007')).toBe(
			'a\u001B[1;38:5:9mb\u001B[0m\\x1b[2J\\x1b]0;x\\x07',
		);
	});

	test.each([
		['10m', {kind: 'ago', ms: 600_000}],
		['+90s', {kind: 'afterStart', ms: 90_000}],
		['2026-03-01T12:00:00Z', {kind: 'date', ms: Date.UTC(2026, 2, 1, 12)}],
		['2026-03-01', {kind: 'date', ms: Date.UTC(2026, 2, 1)}],
	])('the moment %s can be given', (text, moment) => {
		expect(parseMoment('--at', text)).toEqual(moment);
	});

	test.each(['', 'noon', '+', '+x', '90', '20260301'])('the moment %j cannot', text => {
		expect(() => parseMoment('--at', text)).toThrow(`--at ${text}: expected a date`);
	});
});
