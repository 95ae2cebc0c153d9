// covers: src/cli/commands/run, src/cli/commands/attach, src/cli/common/processes/way-back.ts
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {Cuttable} from '../helpers/cuttable.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {scratchDirectory} from '../helpers/scratch.js';

const OUR_OWN_FAILURE = 125;
const GIVE_UP = 'Ctrl-C or ~. gives up';
const INTERRUPT = '\u0003';

interface Place {
	readonly server: Command;
	/** Address of the server, which is always reachable. */
	readonly url: string;
	/** A line to it that can be cut. */
	readonly link: Cuttable;
	/** Settles when the server has ended the session of every client that was cut off before. */
	readonly sessionsOver: () => Promise<void>;
	readonly listed: () => Promise<
		readonly {readonly id: string; readonly name: string | null; readonly state: string}[]
	>;
}

/** A server that ends sessions soon after they have lost their client. */
async function shortSessions(): Promise<Place> {
	const state = join(scratchDirectory(), 'state');
	const args = ['serve', '--detached-session', '300ms', '--state', state, '--log-level', 'debug'];
	const server = new Command(args);
	const url = await server.url();
	const sessionsOver = async (): Promise<void> => {
		const before = countDestroyed(server);
		await run(['run', '-e', url, '--', 'true']);
		await server.until(() => countDestroyed(server) > before, 'the end of a later session');
	};
	const listed: Place['listed'] = async () =>
		JSON.parse((await run(['ps', '-a', '-e', url, '--json'])).stdout) as Awaited<ReturnType<Place['listed']>>;
	return {server, url, link: await Cuttable.to(url), sessionsOver, listed};
}

function countDestroyed({stderr}: Command): number {
	return stderr.split('session destroyed').length - 1;
}

async function lose(link: Cuttable, terminal: OnTerminal): Promise<void> {
	link.isOpen = false;
	link.cut();
	await terminal.shows('the link is lost, connecting again');
	await terminal.shows(GIVE_UP);
}

/** The command that the terminal says leads back, with another address. */
function wayBack({text}: OnTerminal, from: string, to: string): string[] {
	const [, words] = /[Cc]ome back with: longarm ([^\]\r\n]*)/.exec(text) ?? [];
	return words!.replace(from, to).trim().split(' ');
}

test('a shell outlives an outage that is longer than its session, and what was typed meanwhile arrives', async () => {
	const {link, sessionsOver, server} = await shortSessions();
	const terminal = await OnTerminal.longarm('shell', '-e', link.url, '--', 'sh');
	await terminal.type('stty -echo; kept=yes; echo "<re""ady>"\r');
	await terminal.shows('<ready>');
	await lose(link, terminal);
	await terminal.shows('no link for ');
	await sessionsOver();
	await terminal.type('echo "<$kept>"\r');
	link.isOpen = true;
	await terminal.shows('the link is back');
	await terminal.shows('<yes>');
	const before = countDestroyed(server);
	await terminal.type('exit 5\r');
	expect(await terminal.exited).toMatchObject({exitCode: 5});
	// Nothing of a shell that has ended is kept for longer than its session.
	await server.until(() => countDestroyed(server) > before, 'the end of its session');
});

test.each([
	['Ctrl-C', INTERRUPT],
	['~.', '~.'],
])('%s gives up without a link, and the command that is printed leads back to the shell', async (_name, keys) => {
	const {link, url, sessionsOver} = await shortSessions();
	const terminal = await OnTerminal.longarm('shell', '-e', link.url, '--', 'sh');
	await terminal.type('stty -echo; kept=yes; echo "<re""ady>"\r');
	await terminal.shows('<ready>');
	await terminal.type('half a line');
	await lose(link, terminal);
	await terminal.type(keys);
	expect(await terminal.ended).toMatchObject({exitCode: OUR_OWN_FAILURE});
	expect(terminal.text).toContain('error: left before the end of the process was known');
	expect(terminal.text).toContain('It runs on for 24h without a client. Come back with: longarm attach -e ');
	await sessionsOver();
	const back = await OnTerminal.longarm(...wayBack(terminal, link.url, url));
	await back.shows('you drive');
	await back.type('\u0015echo "<$kept>"\r');
	await back.shows('<yes>');
	await back.type('exit 6\r');
	expect(await back.exited).toMatchObject({exitCode: 6});
});

test('a shell whose user leaves on purpose is ended: with ~., and with its terminal', async () => {
	const {url, listed, server} = await shortSessions();
	const left = await OnTerminal.longarm('shell', '-e', url, '--', 'sh', '-c', 'echo ready; exec sleep 1000');
	await left.shows('ready');
	await left.type('\r~.');
	expect(await left.exited).toMatchObject({exitCode: OUR_OWN_FAILURE});
	const closed = await OnTerminal.longarm('shell', '-e', url, '--', 'sh', '-c', 'echo ready; exec sleep 1000');
	await closed.shows('ready');
	await closed.signal('SIGHUP');
	expect(await closed.exited).toMatchObject({exitCode: 129});
	// Their sessions are not kept for a day.
	await server.until(() => countDestroyed(server) >= 2, 'the end of their sessions');
	expect((await listed()).filter(({state}) => state === 'running')).toEqual([]);
});

test('without a link the end of the terminal ends the program at once', async () => {
	const {link} = await shortSessions();
	const terminal = await OnTerminal.longarm('shell', '-e', link.url, '--', 'sh', '-c', 'echo ready; exec sleep 1000');
	await terminal.shows('ready');
	await lose(link, terminal);
	await terminal.signal('SIGHUP');
	expect(await terminal.exited).toMatchObject({exitCode: OUR_OWN_FAILURE});
});

test('a shell with a name is started, left, and attached to again by the same command', async () => {
	const {url, listed} = await shortSessions();
	const first = await OnTerminal.longarm('shell', '-e', url, '--name', 'work', '--', 'sh');
	await first.shows('you drive');
	await first.type('stty -echo; kept=yes; echo "<re""ady>"\r');
	await first.shows('<ready>');
	await first.type('\r~.');
	expect(await first.ended).toMatchObject({exitCode: 0});
	expect(wayBack(first, '', '')).toEqual(['shell', '-e', url, '--name', 'work']);
	expect(await listed()).toMatchObject([{name: 'work', state: 'running'}]);
	const second = await OnTerminal.longarm('shell', '-e', url, '--name', 'work');
	await second.shows('you drive');
	const third = await OnTerminal.longarm('shell', '-e', url, '--name', 'work');
	await third.shows('you drive');
	await second.shows('has taken over');
	await third.type('echo "<$kept>"; exit 7\r');
	await third.shows('<yes>');
	expect(await third.exited).toMatchObject({exitCode: 7});
	expect(await second.exited).toMatchObject({exitCode: 7});
	const anew = await OnTerminal.longarm('shell', '-e', url, '--name', 'work', '--', 'sh', '-c', 'echo "<new>"; exit 3');
	await anew.ended;
	expect(anew.text).toContain('<new>');
	expect(await anew.exited).toMatchObject({exitCode: 3});
});

test('a shell with a name is found again after an outage that is longer than the session of its client', async () => {
	const {link, sessionsOver} = await shortSessions();
	const terminal = await OnTerminal.longarm('shell', '-e', link.url, '--name', 'work', '--', 'sh');
	await terminal.shows('you drive');
	await terminal.type('stty -echo; kept=yes; echo "<re""ady>"\r');
	await terminal.shows('<ready>');
	await lose(link, terminal);
	await sessionsOver();
	link.isOpen = true;
	await terminal.shows('the link is back');
	await terminal.type('echo "<$kept>"; exit 8\r');
	await terminal.shows('<yes>');
	expect(await terminal.exited).toMatchObject({exitCode: 8});
});

test('a program that draws on the whole window draws it again when the link is back', async () => {
	const {link} = await shortSessions();
	const script = `trap 'echo "<drawn $(stty size)>"' WINCH; printf '\\033[?1049h'; echo ready; while :; do sleep 0.05; done`;
	const terminal = await OnTerminal.longarm('shell', '-e', link.url, '--', 'sh', '-c', script);
	await terminal.shows('ready');
	await lose(link, terminal);
	link.isOpen = true;
	await terminal.shows('the link is back');
	await terminal.shows('<drawn 30 100>');
	await terminal.type(INTERRUPT);
	expect(await terminal.exited).toMatchObject({exitCode: 130});
});

test('a name that cannot be one is refused before anything is started', async () => {
	const {url} = await shortSessions();
	const wrong = await OnTerminal.longarm('shell', '-e', url, '--name', 'a b');
	expect(await wrong.ended).toMatchObject({exitCode: OUR_OWN_FAILURE});
	expect(wrong.text).toContain('error: --name a b: expected');
});

test('a command on a terminal waits for its link, too', async () => {
	const {link, sessionsOver} = await shortSessions();
	const inner = [
		process.execPath,
		PROGRAM,
		'run',
		'-t',
		'-e',
		link.url,
		'--',
		'sh',
		'-c',
		'echo ready; read x; exit "$x"',
	];
	const terminal = await OnTerminal.start(inner);
	await terminal.shows('ready');
	await lose(link, terminal);
	await sessionsOver();
	link.isOpen = true;
	await terminal.shows('the link is back');
	await terminal.type('9\r');
	expect(await terminal.exited).toMatchObject({exitCode: 9});
});
