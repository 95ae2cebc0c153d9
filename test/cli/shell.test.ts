import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {Cuttable} from '../helpers/cuttable.js';
import {needs} from '../helpers/needs.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {CLI_TARGETS} from '../helpers/transports.js';

const OUR_OWN_FAILURE = 125;

describe.each(Object.entries(CLI_TARGETS))('on %s', (_name, startTarget) => {
	const shell = async (...args: string[]): Promise<OnTerminal> =>
		OnTerminal.longarm('shell', ...(await startTarget()), ...args);

	test('the login shell has the kind and the size of our terminal, follows it, and its exit code is passed on', async () => {
		const terminal = await shell();
		await terminal.type('echo "<$TERM $(stty size) $->"; stty -echo\r');
		await terminal.shows('<xterm 30 100 ');
		await terminal.resize(20, 70);
		await terminal.type('until [ "$(stty size)" = "20 70" ]; do sleep 0.01; done; echo "<$((20 + 22))>"\r');
		await terminal.shows('<42>');
		await terminal.type('exit 7\r');
		expect(await terminal.exited).toMatchObject({exitCode: 7});
	});

	test('Ctrl-C is a key like any other: what it means is up to what runs there', async () => {
		const script = 'trap "echo interrupted; exit 3" INT; echo ready; while :; do sleep 0.01; done';
		const terminal = await shell('--', 'sh', '-c', script);
		await terminal.shows('ready');
		await terminal.type('\u0003');
		await terminal.shows('interrupted');
		expect(await terminal.exited).toMatchObject({exitCode: 3});
	});

	test(
		'an editor draws the whole window, again when that changes, and writes what was typed',
		needs('vim'),
		async () => {
			const file = join(scratchDirectory(), 'file');
			const onResize = 'autocmd VimResized * echo "now" &lines &columns';
			const terminal = await shell(
				'--',
				'sh',
				'-c',
				`vim -u NONE -N -c '${onResize}' ${file}; cat ${file}; echo "<$?>"`,
			);
			await terminal.shows('[New]');
			await terminal.type('i');
			await terminal.shows('-- INSERT --');
			await terminal.type('typed\u001B');
			await terminal.type(':echo "size" &lines &columns\r');
			await terminal.shows('size 30 100');
			await terminal.resize(20, 70);
			await terminal.shows('now 20 70');
			await terminal.type(':wq\r');
			await terminal.shows('typed\r\n<0>');
			expect(await terminal.exited).toMatchObject({exitCode: 0});
		},
	);

	test('a pager shows one window at a time, as large as it is', needs('less'), async () => {
		const file = join(scratchDirectory(), 'file');
		writeFileSync(file, Array.from({length: 500}, (_, index) => `line ${index + 1}\n`).join(''));
		const terminal = await shell('--', 'less', file);
		await terminal.shows('line 29');
		expect(terminal.text).not.toContain('line 30');
		await terminal.resize(40, 80);
		await terminal.shows('line 39');
		await terminal.type('G');
		await terminal.shows('line 500');
		await terminal.type('q');
		expect(await terminal.exited).toMatchObject({exitCode: 0});
	});
});

test.each([
	['an exit', 'shell -- true', undefined],
	['a signal to the shell', "shell -- sh -c 'kill -9 $$'", undefined],
	[
		'a link that is gone',
		`shell -e "cmd:exec ${process.execPath} ${PROGRAM} serve --listen stdio" -- sh -c 'echo drawn; read x; kill -9 $PPID; sleep 1000'`,
		'kill',
	],
	['a signal that ends us', 'shell -- sh -c \'trap "" HUP; echo drawn; sleep 1000\'', 'SIGHUP'],
])('our terminal is put back after %s', async (_name, args, end) => {
	const pidFile = join(scratchDirectory(), 'pid');
	const inner = `sh -c 'echo $$ > ${pidFile}; exec "$@"' sh ${process.execPath} ${PROGRAM} ${args}`;
	const terminal = await OnTerminal.start(['sh', '-c', `stty -g; ${inner}; echo; stty -g; echo the-end`]);
	if (end !== undefined) await terminal.shows('drawn');
	if (end === 'kill') await terminal.type('\r');
	else if (end !== undefined) {
		const pid = Number(readFileSync(pidFile, 'utf8'));
		process.kill(pid, 'SIGHUP');
		process.kill(pid, 'SIGTERM');
	}
	await terminal.shows('the-end');
	const [before, after] = terminal.text.split('\r\n').filter(line => /^[\da-f]+(?::[\da-f]+){10,}$/.test(line));
	expect(before).toBeDefined();
	expect(after).toBe(before);
});

test('a lost link is shown and recovered, and what was typed meanwhile arrives', async () => {
	const link = await Cuttable.to(await new Command(['serve', '--log-level', 'warn']).url());
	const terminal = await OnTerminal.longarm(
		'shell',
		'-e',
		link.url,
		'--',
		'sh',
		'-c',
		'stty -echo; echo ready; read x; echo "<$x>"; exit 5',
	);
	await terminal.shows('ready');
	link.isOpen = false;
	link.cut();
	await terminal.shows('[longarm: the link is lost, connecting again; Enter ~. leaves]');
	await terminal.type('typed\r');
	link.isOpen = true;
	await terminal.shows('[longarm: the link is back]');
	await terminal.shows('<typed>');
	expect(await terminal.exited).toMatchObject({exitCode: 5});
});

test('~. leaves although the link is dead, and puts the terminal back', async () => {
	const link = await Cuttable.to(await new Command(['serve', '--log-level', 'warn']).url());
	const inner = 'printf "\\033[?1049h\\033[?25l"; stty raw -echo; echo ready; sleep 1000';
	const terminal = await OnTerminal.longarm('shell', '-e', link.url, '--', 'sh', '-c', inner);
	await terminal.shows('ready');
	link.isOpen = false;
	link.cut();
	await terminal.shows('the link is lost');
	await terminal.type('some keys\r');
	await terminal.type('~');
	await terminal.type('.');
	expect(await terminal.exited).toMatchObject({exitCode: OUR_OWN_FAILURE});
	expect(terminal.raw).toContain('\u001B[?1049l\u001B[?25h');
	expect(terminal.text).toContain('error: left before the end of the process was known');
});

test('without a terminal it says what to use instead', async () => {
	const {code, stdout, stderr} = await run(['shell']);
	expect([code, stdout]).toEqual([OUR_OWN_FAILURE, '']);
	expect(stderr).toMatch(/^error: standard input is not a terminal.*longarm run.*\nhint: .*\n$/);
});
