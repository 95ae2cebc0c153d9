import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, run} from '../helpers/command.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {TerminalCommand} from '../helpers/terminal.js';

test('a shell says that its server was restarted, and gives the terminal back', async () => {
	const first = new Command(['serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'silent']);
	const url = await first.url();
	const shell = await TerminalCommand.start(['shell', '-e', url, '--', 'sh', '-c', 'echo started; exec sleep 1000']);
	await shell.until(/started/);
	first.child.kill('SIGKILL');
	await shell.until(/the link is lost/);
	await first.ended;
	const second = new Command(['serve', '--listen', url, '--log-level', 'silent']);
	await second.url();
	expect(await shell.ended).toBe(125);
	expect(shell.output).toMatch(/error: the server does not know this session any more: it was restarted/);
	expect(shell.output).not.toContain('may still run');
});

test('a token that is refused is told apart from one that is missing', async () => {
	const file = join(scratchDirectory(), 'token');
	writeFileSync(file, 'a'.repeat(48), {mode: 0o600});
	const auth = ['--ws-auth', 'capability-token', '--ws-token-file', file];
	const url = await new Command(['serve', '--listen', 'ws://127.0.0.1:0', '--log-level', 'silent', ...auth]).url();
	const said = async (env: Record<string, string>) => (await run(['run', '-e', url, '--', 'true'], env)).stderr;
	expect(await said({})).toMatch(
		/: the server asks for a token and none was given: missing websocket bearer token\nhint: It wants a token: LONGARM_EXEC_SERVER_TOKEN/,
	);
	const wrong = await said({LONGARM_EXEC_SERVER_TOKEN: 'b'.repeat(48)});
	expect(wrong).toMatch(
		/: the server refused the token: invalid websocket bearer token\nhint: Check LONGARM_EXEC_SERVER_TOKEN/,
	);
	expect(wrong).not.toContain('bbbb');
	expect(await said({LONGARM_EXEC_SERVER_TOKEN: 'a'.repeat(48)})).toBe('');
});
