import {spawnSync} from 'node:child_process';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test} from 'vitest';
import {connectWebSocket} from '../../src/transports/node/connect-web-socket.js';
import {Command, type Ended, PROGRAM, run} from '../helpers/command.js';
import {needs, optionalProgram} from '../helpers/needs.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {eventually, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TestClient} from '../helpers/test-client.js';

const WELL: Ended = {code: 0, signal: null};
const NODE_DEBUGGER = 'Debugger listening';

async function serve(flags = ''): Promise<Command> {
	const listen = `unix:${join(scratchDirectory(), 's.sock')}`;
	const command = new Command(['serve', '--listen', listen], {env: {NODE_OPTIONS: flags}, ownSession: true});
	await command.url();
	return command;
}

/** A process runs, so that everything of the server is loaded. */
async function answers(command: Command): Promise<boolean> {
	return (await run(['run', '-e', await command.url(), '--', 'true'])).code === 0;
}

const ENDING = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGABRT', 'SIGXCPU'] as const;
const IGNORED = ['SIGUSR1', 'SIGALRM', 'SIGVTALRM', 'SIGIO', 'SIGPWR', 'SIGSTKFLT', 'SIGPROF'] as const;

test('signals without a meaning are logged by name and do nothing; SIGUSR1 opens no debugger', async () => {
	const command = await serve();
	for (const signal of IGNORED) {
		process.kill(command.pid, signal);
		await command.logs(`"signal ignored","signal":"${signal}"`);
	}
	expect(await answers(command)).toBe(true);
	expect(command.stderr).not.toContain(NODE_DEBUGGER);
});

test('docs/operations.md says of every signal what it does', () => {
	const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
	const [table = ''] = page.split('## Signals')[1]!.trim().split('\n\n');
	const effects = new Map(
		table.split('\n').flatMap(row => {
			const [names = '', effect = ''] = row.split('|').slice(1);
			return [...names.matchAll(/SIG\w+/g)].map(([name]) => [name, effect.trim()] as const);
		}),
	);
	for (const signal of IGNORED) expect([signal, effects.get(signal)]).toEqual([signal, 'nothing']);
	for (const signal of ENDING) expect([signal, effects.get(signal)]).toEqual([signal, expect.stringMatching(/^end /)]);
	expect(effects.get('SIGHUP')).toContain('reads tokens and certificates again');
	expect(effects.get('SIGUSR2')).toContain('replaces the server');
});

test('a signal that comes many times is logged once in a while', async () => {
	const command = await serve();
	for (let count = 0; count < 500; count++) process.kill(command.pid, 'SIGUSR1');
	await command.logs('"SIGUSR1"');
	expect(await answers(command)).toBe(true);
	expect(command.stderr.split('"SIGUSR1"').length).toBeLessThan(50);
});

test('signals that the kernel or Node ignores, and those of programs in real time, do nothing', async () => {
	const command = await serve();
	expect(await answers(command)).toBe(true);
	for (const signal of ['PIPE', 'XFSZ', 'WINCH', 'URG', 'CHLD', '34', '50', '64']) {
		expect(spawnSync('kill', [`-${signal}`, String(command.pid)]).status).toBe(0);
	}
	expect(await answers(command)).toBe(true);
});

test.each(ENDING)('%s ends the server and is named in the log', async signal => {
	const command = await serve();
	process.kill(command.pid, signal);
	expect(await command.ended).toEqual(WELL);
	expect(command.stderr).toContain(`"shutting down","reason":"${signal}"`);
});

test('SIGHUP does not end a server without a terminal: it says that there is nothing to reload', async () => {
	const command = await serve();
	process.kill(command.pid, 'SIGHUP');
	await command.logs('there is nothing to reload');
	expect(await answers(command)).toBe(true);
});

const onTerminal = (...settings: string[]): Promise<OnTerminal> =>
	OnTerminal.longarm('serve', '--log-format', 'json', ...settings);

describe('on a terminal', () => {
	test('SIGHUP ends a server that has nothing to reload', async () => {
		const terminal = await onTerminal();
		await terminal.shows('"listening"');
		await terminal.signal('SIGHUP');
		await terminal.shows('"shutting down","reason":"SIGHUP"');
		expect(await terminal.exited).toMatchObject({exitCode: 0});
	});

	test(
		'SIGHUP reloads while the terminal is there, and ends the server once it was closed',
		needs('tmux'),
		async () => {
			const log = join(scratchDirectory(), 'audit.log');
			const errors = join(scratchDirectory(), 'errors');
			const script = `exec '${process.execPath}' '${PROGRAM}' serve --audit-log '${log}' 2>'${errors}'`;
			const tmux = (...args: string[]): string =>
				spawnSync(optionalProgram('tmux'), ['-S', join(scratch, 'tmux'), '-f', '/dev/null', ...args], {
					encoding: 'utf8',
					// The user may have a login shell that runs nothing.
					env: {...process.env, SHELL: '/bin/sh'},
				}).stdout;
			const scratch = scratchDirectory();
			onTestFinished(() => void tmux('kill-server'));
			tmux('new-session', '-d', script);
			const logged = (text: string) =>
				eventually(() => existsSync(errors) && readFileSync(errors, 'utf8').includes(text));
			await logged('"listening"');
			const [, pid] = /"pid":(\d+)/.exec(readFileSync(errors, 'utf8'))!;
			process.kill(Number(pid), 'SIGHUP');
			await logged('"what":"audit log"');
			tmux('kill-session');
			await logged('"shutting down","reason":"SIGHUP"');
			await untilDead(Number(pid));
			expect(readFileSync(log, 'utf8')).toBe('');
		},
	);
});

async function draining(time: string): Promise<{command: Command; client: TestClient; url: string}> {
	const command = new Command(['serve', '--drain', time, '--shutdown-grace', '10ms']);
	const url = await command.url();
	const client = await new TestClient(await connectWebSocket(url)).initialize();
	await client.sh('p', 'echo up; read line; echo "$line"', {pipeStdin: true});
	await client.shows('p', 'up');
	process.kill(command.pid, 'SIGTERM');
	await command.logs('"draining');
	return {command, client, url};
}

describe('drain', () => {
	test('SIGTERM refuses new processes and connections, and ends when the running ones have', async () => {
		const {command, client, url} = await draining('1h');
		await expect(client.sh('q', 'true')).rejects.toThrow('starts no more processes');
		await expect(connectWebSocket(url)).rejects.toThrow('503');
		expect((await fetch(`${url.replace('ws:', 'http:')}/readyz`)).status).toBe(503);
		await client.write('p', 'done\n', 'w');
		expect((await client.done('p')).stdout).toBe('up\ndone\n');
		expect(await command.ended).toEqual(WELL);
	});

	test('processes that take longer are ended', async () => {
		const {command} = await draining('1ms');
		expect(await command.ended).toEqual(WELL);
		expect(command.stderr).toContain('"drained","processes":1');
	});

	test('a second signal ends at once', async () => {
		const {command} = await draining('1h');
		process.kill(command.pid, 'SIGTERM');
		expect(await command.ended).toEqual(WELL);
		expect(command.stderr).toContain('"asked again, ending at once"');
	});

	test('Ctrl-C does not wait', async () => {
		const command = new Command(['serve', '--drain', '1h', '--shutdown-grace', '10ms']);
		const client = await new TestClient(await connectWebSocket(await command.url())).initialize();
		await client.sh('p', 'sleep 1000');
		process.kill(command.pid, 'SIGINT');
		expect(await command.ended).toEqual(WELL);
		expect(command.stderr).not.toContain('draining');
	});
});

test('a signal that ends a server on stdio is named where only warnings are logged', async () => {
	const command = new Command(['serve', '--listen', 'stdio']);
	command.child.stdin.write('{"id":1,"method":"initialize","params":{"clientName":"c"}}\n');
	await command.until(() => command.stdout.includes('\n'), 'the answer');
	process.kill(command.pid, 'SIGTERM');
	expect(await command.ended).toEqual(WELL);
	expect(command.stderr).toContain('"shutting down","reason":"SIGTERM"');
});

test('a server that was stopped says that it goes on', async () => {
	const command = await serve();
	process.kill(command.pid, 'SIGSTOP');
	process.kill(command.pid, 'SIGCONT');
	await command.logs('"signal":"SIGCONT"');
	expect(await answers(command)).toBe(true);
});

test('a debugger that was opened before the program was loaded is closed, unless it was asked for', async () => {
	const preloaded = join(scratchDirectory(), 'preloaded.cjs');
	writeFileSync(preloaded, `require('node:inspector').open(0, '127.0.0.1');`);
	const uninvited = await serve(`--require ${preloaded}`);
	await uninvited.logs('closed the debugger');

	const invited = await serve('--inspect=127.0.0.1:0');
	expect(await answers(invited)).toBe(true);
	expect(invited.stderr).toContain(NODE_DEBUGGER);
	expect(invited.stderr).not.toContain('closed the debugger');
});

test('SIGUSR1 opens no debugger before the server is loaded, and SIGUSR2 upgrades it when it is', async () => {
	const preloaded = join(scratchDirectory(), 'preloaded.cjs');
	// Between the launcher and its first part, in the first program only.
	writeFileSync(
		preloaded,
		`const {Script} = require('node:vm');
		const run = Script.prototype.runInThisContext;
		const isFirst = process.argv[2] === 'serve' && process.env.LONGARM_HANDOFF_FD === undefined;
		if (isFirst) Script.prototype.runInThisContext = function (...given) {
			Script.prototype.runInThisContext = run;
			for (const signal of ['SIGUSR1', 'SIGUSR2']) process.kill(process.pid, signal);
			return run.apply(this, given);
		};`,
	);
	const command = await serve(`--require ${preloaded}`);
	await command.logs('"upgraded"');
	expect(await answers(command)).toBe(true);
	expect(command.stderr).not.toContain(NODE_DEBUGGER);
});
