import {existsSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {run} from '../helpers/command.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {ProcessServer} from '../helpers/process-server.js';
import {scratchDirectory} from '../helpers/scratch.js';

test('a recording is exported whole, and its file plays the same as the process', async () => {
	const server = await ProcessServer.start();
	const script = String.raw`printf '\033[32mgreen\033[0m\n'; printf '\377'; exit 2`;
	await server.detached('--name', 'rec', '--record', '--tty', '--', 'sh', '-c', script);
	await server.longarm('wait', 'rec');
	const file = join(scratchDirectory(), 'rec.cast');
	const exported = await server.longarm('export', 'rec', '-o', file);
	expect(exported).toMatchObject({
		code: 0,
		stdout: '',
		stderr: 'note: 1 characters stand for bytes that are no UTF-8\n',
	});
	const [header, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
	expect(JSON.parse(header!)).toMatchObject({version: 3, term: {cols: 80, rows: 24}, title: 'rec'});
	expect(JSON.parse(lines.at(-1)!)).toEqual([expect.any(Number), 'x', '2']);
	expect((await server.longarm('export', 'rec')).stdout).toBe(readFileSync(file, 'utf8'));
	expect(await run(['replay', file])).toMatchObject({code: 0, stdout: '\u001B[32mgreen\u001B[0m\r\n\uFFFD'});
	expect((await server.longarm('replay', '--speed', '100', 'rec')).stdout).toContain('\u001B[32mgreen\u001B[0m\r\n');
});

test('changes of the size are part of a recording', async () => {
	const server = await ProcessServer.start();
	const script = `trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done`;
	await server.detached('--name', 'rec', '--record', '--tty', '--', 'sh', '-c', script);
	await server.longarm('wait', 'rec', '--text', 'ready');
	const terminal = await server.onTerminal('attach', 'rec');
	expect(await terminal.ended).toMatchObject({exitCode: 0});
	const {stdout} = await server.longarm('export', 'rec');
	expect(stdout).toMatch(/^\{"version":3,"term":\{"cols":80,"rows":24\}/);
	expect(stdout).toMatch(/\[[\d.]+,"r","100x30"\]\n/);
});

test('Ctrl-C ends a replay, and the modes it left on are ended', async () => {
	const file = join(scratchDirectory(), 'long.cast');
	const lines = [{version: 3, term: {cols: 80, rows: 24}}, [0, 'o', '\u001B[?1049hdrawn'], [100_000, 'o', 'never']];
	writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''));
	const terminal = await OnTerminal.longarm('replay', file);
	await terminal.shows('drawn');
	await terminal.type('\u0003');
	expect(await terminal.ended).toMatchObject({exitCode: 130});
	expect(terminal.raw).toContain('\u001B[?1049l');
});

test('a pause is cut to --idle', async () => {
	const file = join(scratchDirectory(), 'idle.cast');
	const lines = [{version: 2, width: 80, height: 24}, [0, 'o', 'one '], [100_000, 'o', 'two']];
	writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''));
	expect(await run(['replay', '--idle', '10ms', file])).toMatchObject({code: 0, stdout: 'one two'});
});

test('a file that is none says which line, and half an export leaves nothing behind', async () => {
	const directory = scratchDirectory();
	const file = join(directory, 'broken.cast');
	writeFileSync(file, 'no recording\n');
	const broken = await run(['replay', file]);
	expect(broken.code).toBe(1);
	expect(broken.stderr).toMatch(/^error: .*broken\.cast: line 1 of the recording: .*\n$/);
	expect((await run(['replay', join(directory, 'missing.cast')])).code).toBe(1);
	const server = await ProcessServer.start();
	const target = join(directory, 'none.cast');
	expect(await server.longarm('export', 'nobody', '-o', target)).toMatchObject({code: 1});
	expect([existsSync(target), readdirSync(directory)]).toEqual([false, ['broken.cast']]);
});

test.each<[string[], string]>([
	[['replay', '--speed', '0', 'x'], '--speed 0: expected a number above 0'],
	[['replay', '--speed', 'fast', 'x'], '--speed fast: expected a number above 0'],
	[['replay', '--idle', '2x', 'x'], '--idle 2x: expected a time'],
])('longarm %j is misused', async (args, message) => {
	const {code, stdout, stderr} = await run(args);
	expect([code, stdout]).toEqual([2, '']);
	expect(stderr).toContain(`error: ${message}`);
});

test('a recording is not written to a terminal', async () => {
	const terminal = await OnTerminal.longarm('export', '-e', 'ws://127.0.0.1:1', 'x');
	expect(await terminal.ended).toMatchObject({exitCode: 2});
	expect(terminal.text).toContain('error: a recording is not for a terminal; give a file with -o');
});
