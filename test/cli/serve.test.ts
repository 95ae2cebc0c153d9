import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Command, type Ended, run} from '../helpers/command.js';
import {pidOf} from '../helpers/process-api.js';
import {ProcessServer} from '../helpers/process-server.js';
import {isAlive, untilDead} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {clientTransport, connected, underlyingSocket} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

/** Prints its process id and cannot be asked to end. */
const STUBBORN = `trap '' TERM INT HUP; echo $$; while :; do sleep 1000; done`;
const WELL: Ended = {code: 0, signal: null};

interface LogLine {
	readonly level: string;
	readonly time: string;
	readonly msg: string;
}

async function clientOf(command: Command): Promise<TestClient> {
	return (await TestClient.overWebSocket(await command.url())).initialize();
}

test('it serves where it says, and says nothing else on stdout', async () => {
	const command = new Command(['serve']);
	const client = await clientOf(command);
	await client.sh('p', 'echo out; echo err >&2; exit 3');
	expect(await client.done('p')).toEqual({exitCode: 3, stdout: 'out\n', stderr: 'err\n', pty: ''});
	await client.sh('t', 'tty > /dev/null && echo terminal', {tty: true});
	expect((await client.done('t')).pty).toBe('terminal\r\n');
	const ready = await fetch(`${(await command.url()).replace('ws:', 'http:')}/readyz`);
	expect(ready.status).toBe(200);
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual(WELL);
	expect(command.stdout).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\n$/);
});

test.each<NodeJS.Signals>(['SIGTERM', 'SIGINT'])('%s ends every process and then the server', async signal => {
	const command = new Command(['serve', '--log-level', 'silent', '--shutdown-grace', '10ms']);
	const client = await clientOf(command);
	await client.sh('gentle', 'echo $$; exec sleep 1000');
	await client.sh('stubborn', STUBBORN);
	await client.sh('terminal', STUBBORN, {tty: true});
	const pids = [await pidOf(client, 'gentle'), await pidOf(client, 'stubborn'), await pidOf(client, 'terminal')];
	command.child.kill(signal);
	expect(await command.ended).toEqual(WELL);
	expect(pids.filter(isAlive)).toEqual([]);
	expect(command.stderr).toBe('');
});

test('the first signal lets processes say goodbye', async () => {
	const command = new Command(['serve', '--shutdown-grace', '1h']);
	const client = await clientOf(command);
	await client.sh('p', `trap 'echo goodbye; exit 9' TERM; echo ready; read line`, {pipeStdin: true});
	await client.shows('p', 'ready');
	command.child.kill('SIGTERM');
	expect(await client.done('p')).toEqual({exitCode: 9, stdout: 'ready\ngoodbye\n', stderr: '', pty: ''});
	await client.untilClosed();
	expect(await command.ended).toEqual(WELL);
});

test.each<[NodeJS.Signals, NodeJS.Signals]>([
	['SIGINT', 'SIGINT'],
	['SIGTERM', 'SIGINT'],
])('%s and then %s end it at once although a child ignores being asked', async (first, second) => {
	const command = new Command(['serve', '--shutdown-grace', '1h']);
	const client = await clientOf(command);
	await client.sh('p', STUBBORN);
	const pid = await pidOf(client, 'p');
	command.child.kill(first);
	await command.logs('"shutting down"');
	expect(isAlive(pid)).toBe(true);
	command.child.kill(second);
	expect(await command.ended).toEqual(WELL);
	await untilDead(pid);
});

test('a detached session and a client that does not read do not keep it from ending', async () => {
	const command = new Command(['serve', '--log-level', 'silent', '--shutdown-grace', '0']);
	const gone = await clientOf(command);
	await gone.sh('p', STUBBORN);
	const pid = await pidOf(gone, 'p');
	gone.rpc.destroy();
	const socket = await connected(await command.url());
	const stuck = await new TestClient(clientTransport(socket)).initialize();
	await stuck.sh('flood', 'echo $$; exec cat /dev/zero');
	await stuck.shows('flood', '\n');
	const flood = Number.parseInt(stuck.output('flood').toString(), 10);
	underlyingSocket(socket).pause();
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual(WELL);
	expect([pid, flood].filter(isAlive)).toEqual([]);
});

test('a reader of the address may leave', async () => {
	const command = new Command(['serve']);
	const client = await clientOf(command);
	command.child.stdout.destroy();
	await client.sh('p', 'echo still here');
	expect((await client.done('p')).stdout).toBe('still here\n');
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual(WELL);
});

test('a reader of the log may leave', async () => {
	const command = new Command(['serve', '--log-level', 'debug']);
	const client = await clientOf(command);
	command.child.stderr.destroy();
	await client.sh('p', 'echo still here');
	expect((await client.done('p')).stdout).toBe('still here\n');
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual(WELL);
});

test('the log is one JSON object per line and says when and where it listens', async () => {
	const command = new Command(['serve', '--log-level', 'debug']);
	const client = await clientOf(command);
	client.rpc.destroy();
	await command.logs('"session detached"');
	command.child.kill('SIGTERM');
	await command.ended;
	const lines = command.stderr
		.trim()
		.split('\n')
		.map(line => JSON.parse(line) as LogLine);
	expect(lines[0]).toMatchObject({level: 'info', msg: 'listening', url: command.stdout.trim(), pid: command.pid});
	expect(lines.every(({time}) => !Number.isNaN(Date.parse(time)))).toBe(true);
	expect(lines.at(-1)).toMatchObject({msg: expect.stringMatching(/^(session destroyed|shutting down)$/) as string});
});

test('the log can be pretty', async () => {
	const command = new Command(['serve', '--log-format', 'pretty']);
	await command.url();
	await command.logs('listening');
	expect(command.stderr).toMatch(/^[\d:.]{12} info {2}listening url=ws:\/\/127\.0\.0\.1:\d+ pid=\d+\n/);
});

test('settings reach the server, the flag before the variable before the file', async () => {
	const file = join(scratchDirectory(), 'settings.toml');
	writeFileSync(file, 'retain_bytes = "1KiB"\nretain_closed = "1ms"\nlog_level = "silent"\n');
	const env = {LONGARM_CONFIG: file, LONGARM_RETAIN_BYTES: '2KiB', LONGARM_RETAIN_CLOSED: '1h'};
	const command = new Command(['serve', '--retain-bytes', '4KiB'], {env});
	const client = await clientOf(command);
	await client.sh('p', 'head -c 3000 /dev/zero; read line; head -c 3000 /dev/zero', {pipeStdin: true});
	await client.event('p', 'process/output');
	await client.write('p', '\n', 'w');
	await client.event('p', 'process/closed');
	// Two chunks of 3000 bytes: 4 KiB hold one of them, 2 KiB neither, 1 MiB both.
	expect(await client.call('process/read', {processId: 'p'})).toMatchObject({chunks: [{seq: 2}], missedBytes: 3000});
	expect(command.stderr).toBe('');
});

test('beyond loopback it listens only when told so explicitly', async () => {
	// An address of nobody: the refusal is gone, what stops it now is the operating system.
	const args = ['serve', '--listen', 'ws://192.0.2.77:0', '--dangerously-allow-unauthenticated-network'];
	const command = new Command(args);
	expect(await command.ended).toEqual({code: 1, signal: null});
	expect(command.stderr).toMatch(/^error: listen EADDRNOTAVAIL: .*\n$/);
});

test('a failure of its own leaves no process behind', async () => {
	const defect = join(scratchDirectory(), 'defect.mjs');
	writeFileSync(defect, `process.on('SIGUSR2', () => { throw new Error('a defect'); });`);
	const command = new Command(['serve', '--log-level', 'error'], {env: {NODE_OPTIONS: `--import=${defect}`}});
	const client = await clientOf(command);
	await client.sh('p', STUBBORN);
	const pid = await pidOf(client, 'p');
	command.child.kill('SIGUSR2');
	expect(await command.ended).toEqual({code: 1, signal: null});
	await untilDead(pid);
	expect(command.stderr).toContain('a defect');
});

test('a server whose state directory is in use by another one prints no address', async () => {
	const {state} = await ProcessServer.start();
	const second = await run(['serve', '--listen', 'ws://127.0.0.1:0', '--state', state]);
	expect(second).toMatchObject({code: 1, stdout: ''});
	expect(second.stderr).toContain('is used by the server with process id');
});
