import {describe, expect, test} from 'vitest';
import {TimedLines} from '../../src/cli/commands/logs/timed-lines.js';
import {run} from '../helpers/command.js';
import {ProcessServer} from '../helpers/process-server.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (some: Uint8Array): string => new TextDecoder().decode(some);
const NOON = Date.UTC(2026, 2, 1, 12);

test('a line has the time of its first byte, on each stream by itself', () => {
	const lines = new TimedLines({isForTerminal: false});
	expect(text(lines.add('stdout', NOON, bytes('one\ntw')))).toBe('2026-03-01T12:00:00.000Z one\n');
	expect(text(lines.add('stderr', NOON + 1, bytes('error\r\n')))).toBe('2026-03-01T12:00:00.001Z error\n');
	expect(text(lines.add('stdout', NOON + 2, bytes('o\n\n')))).toBe(
		'2026-03-01T12:00:00.000Z two\n2026-03-01T12:00:00.002Z \n',
	);
	expect(text(lines.add('pty', undefined, bytes('no time')))).toBe('');
	expect(lines.finish().map(([stream, rest]) => [stream, text(rest)])).toEqual([['pty', '- no time\n']]);
	expect(lines.finish()).toEqual([]);
});

test('for a terminal control characters in lines with times are written out, in a pipe they stay', () => {
	const line = bytes('a\u001B[2Jb\n');
	expect(text(new TimedLines({isForTerminal: true}).add('pty', NOON, line))).toBe(
		'2026-03-01T12:00:00.000Z a\\x1b[2Jb\n',
	);
	expect(text(new TimedLines({isForTerminal: false}).add('pty', NOON, line))).toContain('a\u001B[2Jb');
});

describe('of a server', () => {
	test('bytes come back on the stream they were written to, after the end, too', async () => {
		const server = await ProcessServer.start();
		const id = await server.detached('--', 'sh', '-c', String.raw`printf 'out\0\377\n'; echo err >&2; echo more`);
		await server.longarm('wait', id);
		const command = server.command('logs', id);
		const pieces: string[] = [];
		command.child.stdout
			.removeAllListeners('data')
			.setEncoding('latin1')
			.on('data', (piece: string) => pieces.push(piece));
		await command.ended;
		expect(pieces.join('')).toBe('out\0\u00ff\nmore\n');
		expect(command.stderr).toBe('err\n');
		expect(await server.longarm('logs', '--stream', 'stderr', id)).toMatchObject({stdout: '', stderr: 'err\n'});
		expect(await server.longarm('logs', '--grep', '^m.re$', id)).toMatchObject({code: 0, stdout: 'more\n'});
		expect(await server.longarm('logs', '--since', '1h', id)).toMatchObject({stderr: 'err\n'});
		expect((await server.longarm('logs', '--since', '2100-01-01', id)).stdout).toBe('');
		expect((await server.longarm('logs', '-t', id)).stdout).toMatch(/^\d{4}-\d\d-\d\dT\S+Z more$/m);
	});

	test('only the last lines are written with --tail', async () => {
		const server = await ProcessServer.start();
		const id = await server.detached('--', 'seq', '1000');
		await server.longarm('wait', id);
		expect(await server.longarm('logs', '--tail', '2', id)).toMatchObject({code: 0, stdout: '999\n1000\n'});
		expect(await server.longarm('logs', '--tail', '0', id)).toMatchObject({code: 0, stdout: ''});
	});

	test('following ends with the process, by its name', async () => {
		const server = await ProcessServer.start();
		await server.detached('--name', 'slow', '--tty', '--', 'sh', '-c', 'echo first; read line; echo "<$line>"');
		const follower = server.command('logs', '-f', 'slow');
		await follower.until(() => follower.stdout.includes('first'), 'the first line');
		const terminal = await server.onTerminal('attach', 'slow');
		await terminal.shows('you drive');
		await terminal.type('second\r');
		expect(await follower.ended).toMatchObject({code: 0});
		expect(follower.stdout).toContain('<second>');
	});

	test('Ctrl-C ends the reading, and the process runs on', async () => {
		const server = await ProcessServer.start();
		const id = await server.detached('--', 'sh', '-c', 'echo on; sleep 1000');
		const follower = server.command('logs', '-f', id);
		await follower.until(() => follower.stdout.includes('on'), 'its output');
		follower.child.kill('SIGINT');
		expect(await follower.ended).toMatchObject({code: 130});
		expect(await server.list()).toMatchObject([{state: 'running'}]);
	});

	test('a reader that leaves is a broken pipe', async () => {
		const server = await ProcessServer.start();
		const id = await server.detached('--', 'sh', '-c', 'yes | head -c 3000000');
		await server.longarm('wait', id);
		const command = server.command('logs', id);
		command.child.stdout.destroy();
		expect(await command.ended).toMatchObject({code: 141});
	});

	test('output that is gone is announced, and the exit code tells', async () => {
		const server = await ProcessServer.start(['--retain-bytes', '64KiB']);
		const command = server.command(
			'run',
			'--name',
			'big',
			'--',
			'sh',
			'-c',
			'yes | head -c 1000000; echo end; read line',
		);
		await command.until(() => command.stdout.endsWith('end\n'), 'its output');
		const {code, stdout, stderr} = await server.longarm('logs', 'big');
		expect(stderr).toMatch(/^longarm: \d+ bytes of output are missing here\n$/);
		expect([code, stdout.endsWith('end\n')]).toEqual([125, true]);
	});

	test('a process nobody knows is an error with names that are near', async () => {
		const server = await ProcessServer.start();
		await server.detached('--name', 'nightly', '--', 'true');
		expect(await server.longarm('logs', 'nightli')).toEqual({
			code: 1,
			signal: null,
			stdout: '',
			stderr:
				`error: no process of the environment ${server.url} has the id or name \`nightli\`; did you mean \`nightly\`?\n` +
				'hint: See longarm ps -a for all processes, those that have ended included.\n',
		});
	});
});

test.each<[string[], string]>([
	[['--tail', 'x'], '--tail x: expected a whole number'],
	[['--tail', '1', '--since', '1m'], '--since and --tail exclude each other'],
	[['--grep', '('], '--grep (: Invalid regular expression'],
	[['--since', 'yesterday'], '--since yesterday: expected a date'],
	[['--since', '+5s'], '--since +5s: expected a date'],
	[['--stream', 'stdin'], '--stream stdin: expected one of stdout, stderr, pty'],
])('logs %j is misused', async (options, message) => {
	const {code, stdout, stderr} = await run(['logs', '-e', 'ws://127.0.0.1:1', ...options, 'id']);
	expect([code, stdout]).toEqual([2, '']);
	expect(stderr).toContain(`error: ${message}`);
});
