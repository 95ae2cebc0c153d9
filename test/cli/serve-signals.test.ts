import {spawnSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, type Ended, run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';

const WELL: Ended = {code: 0, signal: null};
const NODE_DEBUGGER = 'Debugger listening';

async function serve(flags = ''): Promise<Command> {
	const listen = `unix:${join(scratchDirectory(), 's.sock')}`;
	const command = new Command(['serve', '--listen', listen], {env: {NODE_OPTIONS: flags}});
	await command.url();
	return command;
}

/** A process runs, so that everything of the server is loaded. */
async function answers(command: Command): Promise<boolean> {
	return (await run(['run', '-e', await command.url(), '--', 'true'])).code === 0;
}

const IGNORED = ['SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGVTALRM', 'SIGIO', 'SIGPWR', 'SIGSTKFLT', 'SIGPROF'] as const;

test('signals without a meaning are logged by name and do nothing; SIGUSR1 opens no debugger', async () => {
	const command = await serve();
	for (const signal of IGNORED) {
		process.kill(command.pid, signal);
		await command.logs(`"signal ignored","signal":"${signal}"`);
	}
	expect(await answers(command)).toBe(true);
	expect(command.stderr).not.toContain(NODE_DEBUGGER);
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

test.each(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGABRT', 'SIGXCPU', 'SIGHUP'] as const)(
	'%s ends the server and is named in the log',
	async signal => {
		const command = await serve();
		process.kill(command.pid, signal);
		expect(await command.ended).toEqual(WELL);
		expect(command.stderr).toContain(`"shutting down","reason":"${signal}"`);
	},
);

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

test('SIGUSR1 and SIGUSR2 do nothing before the server is loaded', async () => {
	const preloaded = join(scratchDirectory(), 'preloaded.cjs');
	// Between the launcher and its first part.
	writeFileSync(
		preloaded,
		`const {Script} = require('node:vm');
		const run = Script.prototype.runInThisContext;
		Script.prototype.runInThisContext = function (...given) {
			Script.prototype.runInThisContext = run;
			for (const signal of ['SIGUSR1', 'SIGUSR2']) process.kill(process.pid, signal);
			return run.apply(this, given);
		};`,
	);
	const command = await serve(`--require ${preloaded}`);
	expect(await answers(command)).toBe(true);
	expect(command.stderr).not.toContain(NODE_DEBUGGER);
});
