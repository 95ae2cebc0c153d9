import {PassThrough} from 'node:stream';
import {describe, expect, test} from 'vitest';
import {AttachKeyboard, type KeyboardCommand} from '../../src/cli/commands/attach/attach-keyboard.js';
import {drawScreen} from '../../src/cli/commands/attach/first-output.js';
import {describeDriverChange, describeSeat, describeSmallWindow} from '../../src/cli/commands/attach/seat-lines.js';
import {run} from '../helpers/command.js';
import {ProcessServer} from '../helpers/process-server.js';

/** Repeats what is typed, and tells its size when it changes. */
const ECHO = `trap 'echo "size $(stty size)"' WINCH; stty -echo; echo ready; while :; do read line && echo "<$line>"; done`;

async function echoing(): Promise<ProcessServer> {
	const server = await ProcessServer.start();
	await server.detached('--name', 'echo', '--tty', '--', 'sh', '-c', ECHO);
	await server.longarm('wait', 'echo', '--text', 'ready');
	return server;
}

describe('on a terminal', () => {
	test('the screen is shown first, the first client drives, and ~d leaves the process alone', async () => {
		const server = await echoing();
		const terminal = await server.onTerminal('attach', 'echo');
		await terminal.shows('ready');
		await terminal.shows('you drive; ~d leaves');
		await terminal.shows('size 30 100');
		await terminal.type('one\r');
		await terminal.shows('<one>');
		await terminal.resize(20, 70);
		await terminal.shows('size 20 70');
		expect(await server.list()).toMatchObject([{rows: 20, cols: 70, attached: [{role: 'drive'}]}]);
		await terminal.type('~d');
		expect(await terminal.ended).toMatchObject({exitCode: 0});
		expect(terminal.text).toContain('left; the process runs on');
		expect(await server.list()).toMatchObject([{state: 'running', driver: null, attached: []}]);
	});

	test('a second client watches, takes over when it asks, and gives back; everybody is told', async () => {
		const server = await echoing();
		const first = await server.onTerminal('attach', 'echo');
		await first.shows('you drive');
		const second = await server.onTerminal('attach', 'echo');
		await second.shows('drives, so you are watching');
		await second.type('ignored\r');
		await second.shows('you are watching: ~t takes over');
		await first.type('from the first\r');
		await second.shows('<from the first>');
		await second.type('~t');
		await second.shows('you drive; ~d leaves');
		await first.shows('has taken over');
		await first.type('refused\r');
		await second.type('from the second\r');
		await first.shows('<from the second>');
		await second.type('~o');
		await second.shows('nobody drives and you are watching');
		await first.shows('does not drive any more');
		await first.type('~t');
		await first.shows('you drive');
		await first.type('again\r');
		await second.shows('<again>');
		expect(second.text).not.toContain('<refused>');
		expect(second.text).not.toContain('<ignored>');
		await second.type('\u0003');
		expect(await second.ended).toMatchObject({exitCode: 130});
		await first.type('~.');
		expect(await first.ended).toMatchObject({exitCode: 0});
	});

	test('--take drives at once, --observe never does, and a window that is too small is told', async () => {
		const server = await echoing();
		const first = await server.onTerminal('attach', 'echo');
		await first.shows('you drive');
		const observer = await server.onTerminal('attach', '--observe', 'echo');
		await observer.shows('drives and you are watching');
		await first.resize(50, 200);
		await observer.shows('the terminal there is 200x50, this window only 100x30');
		const taker = await server.onTerminal('attach', '--take', 'echo');
		await taker.shows('you drive');
		await first.shows('has taken over');
		await observer.shows('has taken over');
		expect(await server.list()).toMatchObject([{rows: 30, cols: 100}]);
	});

	test('the end of the process is the end of all that are attached, with its exit code', async () => {
		const server = await ProcessServer.start();
		await server.detached('--name', 'once', '--tty', '--', 'sh', '-c', 'read line; exit 6');
		const [one, other] = [await server.onTerminal('attach', 'once'), await server.onTerminal('attach', 'once')];
		await one.shows('you');
		await other.shows('you');
		await (one.text.includes('you drive') ? one : other).type('x\r');
		expect(await one.ended).toMatchObject({exitCode: 6});
		expect(await other.ended).toMatchObject({exitCode: 6});
		const late = await server.onTerminal('attach', 'once');
		expect(await late.ended).toMatchObject({exitCode: 6});
	});

	test('the other screen of an editor is put away when we leave', async () => {
		const server = await ProcessServer.start();
		const script = String.raw`printf '\033[?1049h\033[?25ldrawn'; read line`;
		await server.detached('--name', 'editor', '--tty', '--', 'sh', '-c', script);
		await server.longarm('wait', 'editor', '--text', 'drawn');
		const terminal = await server.onTerminal('attach', 'editor');
		await terminal.shows('drawn');
		await terminal.shows('you drive');
		await terminal.type('~d');
		await terminal.ended;
		expect(terminal.raw).toContain('\u001B[?1049h');
		expect(terminal.raw).toContain('\u001B[?1049l');
		expect(terminal.raw).toContain('\u001B[?25h');
	});
});

test('without a terminal the last lines come first, then all that follows, and the exit code', async () => {
	const server = await ProcessServer.start();
	const script = 'seq 100; while ! [ -e "$0" ]; do sleep 0.05; done; echo last; exit 4';
	const flag = `${server.state}-flag`;
	await server.detached('--name', 'pipes', '--', 'sh', '-c', script, flag);
	await server.longarm('wait', 'pipes', '--text', '100');
	const command = server.command('attach', 'pipes');
	await command.until(() => command.stdout.includes('100\n'), 'the last lines');
	expect(command.stdout).toMatch(/^81\n/);
	await server.longarm('run', '--', 'touch', flag);
	expect(await command.ended).toMatchObject({code: 4});
	expect(command.stdout).toMatch(/\n100\nlast\n$/);
	expect(command.stderr).toMatch(/^longarm: you drive; ~d leaves\n$/);
});

test('a signal leaves, and the process runs on', async () => {
	const server = await ProcessServer.start();
	await server.detached('--name', 'job', '--', 'sh', '-c', 'echo on; sleep 1000');
	const command = server.command('attach', 'job');
	await command.until(() => command.stderr.includes('you drive'), 'the seat');
	command.child.kill('SIGINT');
	expect(await command.ended).toMatchObject({code: 130});
	expect(await server.list()).toMatchObject([{state: 'running', attached: []}]);
});

test('two roles at once are a misuse', async () => {
	const {code, stderr} = await run(['attach', '--observe', '--take', 'x']);
	expect([code, stderr.split('\n')[0]]).toEqual([125, 'error: --observe and --take exclude each other']);
});

/** Everything that is passed on, and the commands, for keys that are typed one by one or together. */
async function typed(isDriving: boolean, ...pieces: string[]): Promise<[string, KeyboardCommand[]]> {
	const source = new PassThrough();
	const commands: KeyboardCommand[] = [];
	const keyboard = new AttachKeyboard(source, {
		isDriving: () => isDriving,
		command: command => commands.push(command),
	});
	for (const piece of pieces) source.write(piece);
	source.end();
	let passed = '';
	for await (const bytes of keyboard.input) passed += new TextDecoder().decode(bytes);
	return [passed, commands];
}

describe('keys', () => {
	test.each<[string, string, KeyboardCommand[]]>([
		['ls\r', 'ls\r', []],
		['~d', '', ['leave']],
		['a~d', 'a~d', []],
		['a\r~tb\r', 'a\rb\r', ['take']],
		['~o~t', '', ['observe', 'take']],
		['~~d', '~d', []],
		['\u0003', '\u0003', []],
		['~.x', '', ['leave']],
	])('of a driver: %j', async (keys, passed, commands) => {
		expect(await typed(true, keys)).toEqual([passed, commands]);
		expect((await typed(true, ...keys.split('')))[1]).toEqual(commands);
	});

	test.each<[string, KeyboardCommand[]]>([
		['abc', ['ignored']],
		['\u0003', ['interrupt']],
		['~d', ['leave']],
		['~t', ['take']],
	])('of an observer nothing is passed on: %j', async (keys, commands) => {
		expect(await typed(false, keys)).toEqual(['', commands]);
		expect((await typed(false, 'x', keys))[1]).toEqual(['ignored', ...commands]);
	});
});

test('lines tell who drives', () => {
	expect(describeSeat({role: 'drive', driver: 'me'}, false)).toBe('you drive; ~d leaves');
	expect(describeSeat({role: 'observe', driver: 'bob'}, true)).toBe(
		'bob drives, so you are watching; ~t takes over, ~d leaves',
	);
	const change = {kind: 'driverChanged', driver: undefined, previous: 'bob', reason: 'disconnected'} as const;
	expect(describeDriverChange(change, {role: 'observe', driver: undefined})).toBe(
		'bob has lost its connection; ~t takes over',
	);
	expect(describeDriverChange(change, {role: 'drive', driver: 'me'})).toBeUndefined();
	expect(describeSmallWindow({rows: 24, cols: 80}, {rows: 24, cols: 80})).toBeUndefined();
});

test('of a screen that is higher than ours the last lines are drawn, and only colours of it', () => {
	const screen = {
		rows: 3,
		cols: 10,
		cursor: {row: 2, col: 1, isVisible: false},
		alternate: true,
		title: '',
		lines: ['one', '\u001B[31mtwo\u001B[0m', 'three\u0007'],
		seq: 1,
	};
	expect(drawScreen(screen, {rows: 2, cols: 10})).toBe(
		'\u001B[?1049h\u001B[H\u001B[2J\u001B[31mtwo\u001B[0m\r\nthree\\x07\u001B[2;2H\u001B[?25l',
	);
});
