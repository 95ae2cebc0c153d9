import {expect, test} from 'vitest';
import {listDescendants} from '../../../src/processes/tree/process-tree.js';
import {usesAlternateScreen} from '../../../src/processes/wait/alternate-screen.js';
import {examineInput} from '../../../src/processes/wait/awaited-input.js';
import {readBlockedCall} from '../../../src/processes/wait/blocked-calls.js';
import {readAwaitedInput} from '../../../src/processes/wait/input-watch.js';
import {PIPES, PIPES_WITH_STDIN, PTY} from '../../helpers/children.js';
import type {Managed} from '../../helpers/managed.js';
import {findProgram, needs, needsRoot, runAsNobody} from '../../helpers/needs.js';
import {eventually} from '../../helpers/processes.js';
import {running, wantedInput} from '../../helpers/waiting.js';

const INPUT = {awaited: 'input', isGuess: false};
const PASSWORD = {awaited: 'password', isGuess: false};
const GUESS = {awaited: 'input', isGuess: true};

const environment = new Map([
	['PATH', process.env['PATH']!],
	['HOME', '/nonexistent'],
	['TERM', 'xterm'],
]);
const bash = {file: findProgram('bash') ?? 'bash', environment};
/** A program of Python, which need not be quoted for the shell. */
const python = (program: string) => ({
	file: findProgram('python3') ?? 'python3',
	argv: ['python3', '-c', program],
	environment,
});

function look({process}: Managed): ReturnType<typeof examineInput> {
	const {state} = process;
	if (state.kind !== 'running') throw new Error(`the process is ${state.kind}`);
	return examineInput(state.child, state.child.inputProbe!()!);
}

test('cat on a terminal waits for input', async () => {
	expect(await wantedInput((await running('cat', PTY)).process)).toEqual(INPUT);
});

test('head waits for input, below a shell that waits for it', async () => {
	expect(await wantedInput((await running('head -n 1; :', PTY)).process)).toEqual(INPUT);
});

test('read of bash waits for input', needs('bash'), async () => {
	expect(await wantedInput((await running('read -p "Name: " name', PTY, bash)).process)).toEqual(INPUT);
});

test('read of bash that shows nothing waits for a password', needs('bash'), async () => {
	const {process: asking} = await running('read -s -p "Password: " secret', PTY, bash);
	expect(await wantedInput(asking)).toEqual(PASSWORD);
	expect(await readAwaitedInput(asking)).toBe('password');
});

test('input() of Python waits for input', needs('python3'), async () => {
	const {process: asking} = await running('', PTY, python('input("Name: ")'));
	expect(await wantedInput(asking)).toEqual(INPUT);
});

test('getpass of Python, which opens its controlling terminal, waits for a password', needs('python3'), async () => {
	const {process: asking} = await running('', PTY, python('import getpass; getpass.getpass()'));
	expect(await wantedInput(asking)).toEqual(PASSWORD);
});

/** Settles when a program has begun to draw and is idle since. */
async function isDrawn({process}: Managed): Promise<void> {
	let bytes = 0;
	await eventually(() => {
		const before = bytes;
		bytes = process.log.totalBytes;
		return bytes > 0 && bytes === before;
	});
}

/** Input that a program wants once it has shown the alternate screen. */
async function readOnFullScreen(script: string): Promise<unknown> {
	const program = await running(script, PTY, {environment});
	await isDrawn(program);
	await eventually(() => usesAlternateScreen(program.process.log));
	return readAwaitedInput(program.process);
}

test('less, which reads keys on the alternate screen, does not wait for input', needs('less', 'seq'), async () => {
	expect(await readOnFullScreen('seq 1000 | less')).toBeNull();
});

test('vim, which fills the screen, does not wait for input', needs('vim'), async () => {
	expect(await readOnFullScreen('exec vim -u NONE -N')).toBeNull();
});

test.each(['1049', '1;47', '1047'])(
	'a reader on the alternate screen (mode %s) does not wait for input',
	async mode => {
		expect(await readOnFullScreen(String.raw`printf '\033[?${mode}hmenu'; exec cat`)).toBeNull();
	},
);

test('a program that has left the alternate screen waits for input', async () => {
	const script = String.raw`printf '\033[?1049hmenu\033[?10'; sleep 0.05; printf '49lName: '; exec cat`;
	expect(await wantedInput((await running(script, PTY)).process)).toEqual(INPUT);
});

test('a password is asked for on the alternate screen as well', async () => {
	const script = String.raw`stty -echo; printf '\033[?1049hPassword: '; exec cat`;
	expect(await wantedInput((await running(script, PTY)).process)).toEqual(PASSWORD);
});

test.each([
	['poll', 'p = select.poll(); p.register(0, 1); p.poll(600000)'],
	['select', 'select.select([0], [], [], 600)'],
	['epoll', 'p = select.epoll(); p.register(0, 1); p.poll(600)'],
])(
	'%s with a timeout on a raw terminal does not wait for input, and without one it seems to',
	needs('python3'),
	async (_, timed) => {
		const raw = 'import select, tty; tty.setraw(0); print("ready", flush=True);';
		const forever = timed.replace(/600000|, 600(?=\))|600/, '');
		const waiting = await running('', PTY, python(`${raw} ${forever}`));
		expect(await wantedInput(waiting.process)).toEqual(GUESS);
		const polling = await running('', PTY, python(`${raw} ${timed}`));
		await eventually(() => readBlockedCall(polling.process.pid!).kind === 'poll');
		expect(readBlockedCall(polling.process.pid!)).toEqual({kind: 'poll', hasTimeout: true});
		expect(look(polling)).toBeUndefined();
		expect(await readAwaitedInput(polling.process)).toBeNull();
	},
);

test('a read that returns after a while without input does not wait for input', needs('python3'), async () => {
	const program = `import os, termios, tty
tty.setraw(0)
modes = termios.tcgetattr(0)
modes[6][termios.VMIN], modes[6][termios.VTIME] = 0, 255
termios.tcsetattr(0, termios.TCSANOW, modes)
while not os.read(0, 1): pass`;
	const polling = await running('', PTY, python(program));
	await eventually(() => readBlockedCall(polling.process.pid!).kind === 'read');
	expect(await readAwaitedInput(polling.process)).toBeNull();
});

test('top, which looks for keys from time to time, does not wait for input', needs('top'), async () => {
	const top = await running('exec top -d 600', PTY, {environment});
	await isDrawn(top);
	await eventually(() => readBlockedCall(top.process.pid!).kind === 'poll');
	expect(await readAwaitedInput(top.process)).toBeNull();
});

test('the line editor of bash seems to wait for input', needs('bash'), async () => {
	const argv = ['bash', '--norc', '-i'];
	expect(await wantedInput((await running('', PTY, {...bash, argv})).process)).toEqual(GUESS);
});

test('a question of Node seems to wait for input', async () => {
	const program = `require('readline').createInterface({input: process.stdin, output: process.stdout}).question('?', () => {})`;
	const changes = {file: process.execPath, argv: ['node', '-e', program], environment};
	expect(await wantedInput((await running('', PTY, changes)).process)).toEqual(GUESS);
});

test('a thread that reads beside others that are idle seems to wait for input', needs('python3'), async () => {
	const program = 'import sys, threading, time; threading.Thread(target=sys.stdin.read).start(); time.sleep(1000)';
	for (const io of [PTY, PIPES_WITH_STDIN]) {
		expect(await wantedInput((await running('', io, python(program))).process)).toEqual(GUESS);
	}
});

test(
	'a program of another user seems to wait for a password when the terminal shows nothing',
	needsRoot(),
	async () => {
		const asking = await running('stty -echo; exec cat', PTY);
		const hidden = await running('exec cat', PTY);
		await wantedInput(asking.process);
		await wantedInput(hidden.process);
		await runAsNobody(async () => {
			expect(await wantedInput(asking.process)).toEqual({awaited: 'password', isGuess: true});
			expect(look(hidden)).toBeUndefined();
		});
	},
);

test.each([
	['cat', 'cat'],
	['a shell', 'read name'],
	['a reader behind another program', 'sleep 1000 & cat'],
])('%s waits for the pipe it reads', async (_, script) => {
	expect(await wantedInput((await running(`exec 3<&0; ${script} <&3`)).process)).toEqual(INPUT);
});

/** Settles when some process below the shell is blocked in a read. */
async function somethingReads({process}: Managed): Promise<void> {
	await eventually(() => listDescendants(process.pid!).some(({pid}) => readBlockedCall(pid).kind === 'read'));
}

test.each([
	['a terminal', PTY],
	['pipes', PIPES_WITH_STDIN],
])('sleep and what waits for its output do not wait for input on %s', async (_, io) => {
	const pipeline = await running('sleep 1000 | cat', io);
	await somethingReads(pipeline);
	expect(look(pipeline)).toBeUndefined();
	expect(await readAwaitedInput(pipeline.process)).toBeNull();
	const sleeper = await running('echo ready; exec sleep 1000', io);
	await sleeper.shows('ready');
	expect(look(sleeper)).toBeUndefined();
	const busy = await running('echo ready; while :; do :; done', io);
	await busy.shows('ready');
	expect(look(busy)).toBeUndefined();
});

test('a reader in the background of a terminal does not wait for input', needs('bash'), async () => {
	const {process: shell} = await running('', PTY, {
		...bash,
		argv: ['bash', '-mc', 'cat & sleep 1000'],
	});
	await eventually(() => listDescendants(shell.pid!).length === 2);
	expect(await readAwaitedInput(shell)).toBeNull();
});

test('a process without input, with closed input, or that has ended waits for none', async () => {
	const none = await running('echo ready; sleep 1000', PIPES);
	await none.shows('ready');
	expect(await readAwaitedInput(none.process)).toBeNull();
	const closed = await running('cat; sleep 1000');
	closed.process.closeStdin();
	expect(await readAwaitedInput(closed.process)).toBeNull();
	const ended = await running('exit');
	await ended.reaches('closed');
	expect(await readAwaitedInput(ended.process)).toBeNull();
});
