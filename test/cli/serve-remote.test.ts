// covers: src/cli/commands/serve/serve-remote.ts, src/cli/commands/serve/credential-frames.ts, src/cli/commands/serve/serve-forward.ts
import {chmodSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Environment} from '../../src/environments/environment.js';
import {Command, run} from '../helpers/command.js';
import {environmentVia, type RunningHub, runningHub} from '../helpers/hubs.js';
import {listLivingKeepers, stateDirectory} from '../helpers/keepers.js';
import {askUntil} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {fileWith} from '../helpers/tokens.js';

interface Options {
	readonly env?: Record<string, string>;
	readonly args?: readonly string[];
	readonly command?: readonly string[];
}

/** The built server with `--remote`, of a user with nothing remembered. */
function serveRemote(hubs: readonly RunningHub[], {env = {}, args = [], command = ['serve']}: Options = {}): Command {
	const urls = hubs.map(({url}) => url).join(',');
	return new Command([...command, '--remote', urls, '--environment-id', 'devbox', '--log-format', 'json', ...args], {
		env: {XDG_STATE_HOME: scratchDirectory(), ...env},
	});
}

const inOneHour = (): number => Math.floor(Date.now() / 1000) + 3600;
const credential = (token: string, more: object = {}): string =>
	`${JSON.stringify({version: 1, environment_id: 'devbox', token, expires_at: inOneHour(), ...more})}\n`;

test('the key of the stock variable registers, and children do not inherit it', async () => {
	const hub = await runningHub();
	const server = serveRemote([hub], {env: {CODEX_API_KEY: hub.executorToken}, args: ['--name', 'any name']});
	await server.logs('"online"');
	expect(server.stdout).toBe('');
	const box = environmentVia(hub, 'devbox');
	const {stdout} = await box.shell('env; tr "\\0" "\\n" < /proc/$PPID/environ 2>/dev/null || true');
	expect(stdout.text).not.toContain(hub.executorToken);
	expect(server.stderr).not.toContain(hub.executorToken);
	await box.close();
	server.child.kill('SIGTERM');
	expect(await server.ended).toEqual({code: 0, signal: null});
});

test('one server is reached through several hubs and its own port, and a hub that refuses it does not stop the others', async () => {
	const [one, other] = [await runningHub(), await runningHub()];
	const token = one.executorToken;
	const server = serveRemote([one, other], {
		args: ['--token-file', fileWith(token), '--listen', 'ws://127.0.0.1:0'],
	});
	await server.logs('"online"');
	await server.logs('"a registry refuses this executor"');
	const here = Environment.remote('here', await server.url());
	const via = environmentVia(one, 'devbox');
	const [first, second] = [await here.shell('echo $PPID'), await via.shell('echo $PPID')];
	expect(first.stdout.text).toBe(second.stdout.text);
	await here.close();
});

test('a server behind a hub that drains does not wait for a process that outlives it', async () => {
	const hub = await runningHub();
	const state = stateDirectory();
	const server = serveRemote([hub], {
		args: ['--token-file', fileWith(hub.executorToken), '--state', state, '--drain', '1h'],
	});
	await server.logs('"online"');
	const box = environmentVia(hub, 'devbox');
	await box.start(['sleep', '1000'], {durable: true, detach: true});
	await box.close();
	server.child.kill('SIGTERM');
	expect(await server.ended).toEqual({code: 0, signal: null});
	expect(listLivingKeepers(state)).toHaveLength(1);
});

test('a credential on stdin is used, replaced by a later one, and its end stops the server', async () => {
	const hub = await runningHub();
	const server = serveRemote([hub], {args: ['--executor-credential-stdin'], env: {CODEX_API_KEY: 'not this one'}});
	const first = await hub.hub.tokens.create('executor', 'devbox');
	server.child.stdin.write(credential(first.token));
	await server.logs('"online"');
	await environmentVia(hub, 'devbox').shell('true');
	server.child.stdin.write(credential(hub.executorToken));
	await hub.hub.tokens.revoke(first.record.id);
	// Every new client is asked about with the token of that moment.
	const retried = async (): Promise<boolean> => {
		try {
			return (await environmentVia(hub, 'devbox').shell('echo again')).stdout.text === 'again\n';
		} catch {
			return false;
		}
	};
	await askUntil(retried, isThere => isThere);
	server.child.stdin.end();
	expect(await server.ended).toEqual({code: 0, signal: null});
});

const BAD_LINES: [string, string, string][] = [
	['with missing members', '{"version":1}\n', 'invalid exec-server executor credential frame'],
	['that is no JSON', 'no JSON\n', 'invalid exec-server executor credential frame'],
	[
		'for another machine',
		credential('t', {environment_id: 'other'}),
		'exec-server executor credential is for a different environment',
	],
	['that is expired', credential('t', {expires_at: 1}), 'exec-server executor credential is expired'],
	['that is too long', ' '.repeat(17 * 1024), 'exec-server executor credential frame exceeds the size limit'],
	['that never comes', '', 'exec-server executor credential pipe closed'],
];

test.each(BAD_LINES)('a first credential %s ends the server with exit code 1', async (_kind, line, text) => {
	const hub = await runningHub();
	const server = serveRemote([hub], {args: ['--executor-credential-stdin']});
	if (line === '') server.child.stdin.end();
	else server.child.stdin.write(line);
	expect(await server.ended).toEqual({code: 1, signal: null});
	expect(server.stderr).toContain(text);
});

test('a later credential that cannot be used ends the server with exit code 1', async () => {
	const hub = await runningHub();
	const server = serveRemote([hub], {args: ['--executor-credential-stdin']});
	server.child.stdin.write(credential(hub.executorToken));
	await server.logs('"online"');
	server.child.stdin.write('{}\n');
	expect(await server.ended).toEqual({code: 1, signal: null});
	expect(server.stderr).toContain('invalid exec-server executor credential frame');
});

test('the end of stdin stops a server that was asked to, and a refused token ends it with the text of the registry', async () => {
	const hub = await runningHub();
	const file = fileWith(hub.executorToken);
	const server = serveRemote([hub], {args: ['--token-file', file, '--exit-on-stdin-close']});
	await server.logs('"online"');
	server.child.stdin.end();
	expect(await server.ended).toEqual({code: 0, signal: null});
	const refused = serveRemote([hub], {env: {CODEX_API_KEY: 'wrong'}});
	expect(await refused.ended).toMatchObject({code: 1});
	expect(refused.stderr).toContain(
		'environment registry authentication error: environment registry authentication failed (401 Unauthorized)',
	);
});

const REFUSED: [string[], number, string][] = [
	[['--remote', 'http://127.0.0.1:1'], 1, 'environment id is required for remote exec-server registration'],
	[
		['--remote', 'http://hub.example', '--environment-id', 'a'],
		1,
		'remote transport requires https for non-loopback endpoints',
	],
	[['--remote', 'http://127.0.0.1:1', '--environment-id', 'a'], 1, 'hint: A hub wants a token: --token-file FILE'],
	[['--remote', 'hub.example', '--environment-id', 'a'], 1, 'hint: The address of a hub is like https://hub.example'],
	[['--remote', 'ftp://hub.example', '--environment-id', 'a'], 1, '`ftp://hub.example` is not an http or https URL'],
	[['--executor-credential-stdin'], 2, '--executor-credential-stdin goes with --remote'],
	[['--remote', 'http://127.0.0.1:1', '--environment-id', 'a b'], 2, '--environment-id has up to 64 letters'],
];

test.each(REFUSED)('serve %j is refused', async (args, code, text) => {
	const refused = await run(['serve', ...args], {XDG_STATE_HOME: scratchDirectory()});
	expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(text)]);
});

test('the key stays the same over a restart, and a file that others can read is refused', async () => {
	const hub = await runningHub();
	const keyFile = join(scratchDirectory(), 'key.json');
	const options = {args: ['--token-file', fileWith(hub.executorToken), '--key-file', keyFile]};
	const fingerprint = async (): Promise<string> => {
		const server = serveRemote([hub], options);
		await server.logs('"online"');
		server.child.kill('SIGTERM');
		await server.ended;
		return /sha256:[0-9a-f]{64}/.exec(server.stderr)![0];
	};
	expect(await fingerprint()).toBe(await fingerprint());
	expect(readFileSync(keyFile, 'utf8')).toContain('mlkem768');
	chmodSync(keyFile, 0o644);
	const open = serveRemote([hub], options);
	expect(await open.ended).toMatchObject({code: 1});
	expect(open.stderr).toContain(`the key file ${keyFile} cannot be used`);
});

test('a server that only hubs know is replaced in place: its process and the credential of stdin go on', async () => {
	const hub = await runningHub();
	const server = serveRemote([hub], {args: ['--executor-credential-stdin', '--state', scratchDirectory()]});
	server.child.stdin.write(credential(hub.executorToken));
	await server.logs('"online"');
	const box = environmentVia(hub, 'devbox');
	const child = await box.start(['sh', '-c', 'echo $$; read line; echo "$line $$"'], {stdin: true});
	const output = child.output()[Symbol.asyncIterator]();
	const next = async (): Promise<string> => {
		const {value} = (await output.next()) as {value: {bytes: Uint8Array}};
		return Buffer.from(value.bytes).toString();
	};
	const pid = (await next()).trim();
	server.child.kill('SIGUSR2');
	await server.logs('"upgraded"');
	await child.write('after\n');
	expect(await next()).toBe(`after ${pid}\n`);
	expect(await child.exited).toMatchObject({exitCode: 0});
});

test('another server is reached through a hub: each client has a connection of its own', async () => {
	const hub = await runningHub();
	const behind = new Command(['serve', '--listen', 'ws://127.0.0.1:0']);
	const forward = serveRemote([hub], {
		command: ['serve', 'forward', '--connect', await behind.url()],
		args: ['--token-file', fileWith(hub.executorToken)],
	});
	await forward.logs('"online"');
	const [one, other] = [environmentVia(hub, 'devbox'), environmentVia(hub, 'devbox')];
	const [first, second] = await Promise.all([one.shell('echo $PPID; seq 1 20000'), other.shell('echo $PPID')]);
	expect(first.stdout.text.split('\n').length).toBe(20_002);
	expect(first.stdout.text).toMatch(new RegExp(`^${second.stdout.text}`));
	forward.child.kill('SIGTERM');
	expect(await forward.ended).toMatchObject({code: 0});
});
