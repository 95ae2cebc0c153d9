// covers: src/cli/commands/serve/ask-next-program.ts, check-handoff.ts, upgrade-server.ts
import {copyFileSync, linkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {askNextProgram} from '../../src/cli/commands/serve/ask-next-program.js';
import {createNativeBackend} from '../../src/processes/backends/linux/native-backend.js';
import {HANDOFF_VERSION} from '../../src/shared/node/handoff-file.js';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {joined} from '../helpers/process-api.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {collect, counting, countLines, startScript, UpgradableServer} from '../helpers/upgrades.js';

const AGREES = `console.log('longarm reads handoff ${HANDOFF_VERSION}');`;

test.each([
	['prints nonsense', `console.log('hello');`, 'it ended with 0 and said `hello`'],
	['fails', `console.error('broken'); process.exit(1);`, 'it ended with 1 and said `broken`'],
	['agrees and fails', `${AGREES} process.exit(3);`, 'it ended with 3'],
	['cannot be parsed', '{{{', 'it ended with 1'],
	['is killed', `process.kill(process.pid, 'SIGKILL');`, 'it ended with 137'],
])('a new program that %s leaves everything as it is', async (_, source, reason) => {
	const server = new UpgradableServer();
	const client = await server.client();
	const stop = join(scratchDirectory(), 'stop');
	const handle = await startScript(client, 'p', counting(stop), {tty: true});
	const result = collect(handle);
	let isCut = false;
	client.onDisconnect(() => {
		isCut = true;
	});
	server.install(source);
	server.signal();
	await server.command.logs('not upgraded, the server goes on');
	expect(server.command.stderr).toContain(reason);
	await handle.waitForSeq(handle.lastSeq + 1);
	expect(isCut).toBe(false);
	server.install(`require(${JSON.stringify(PROGRAM)});`);
	await server.upgrade();
	writeFileSync(stop, '');
	const {text, ends, exitCode} = await result;
	expect({ends, exitCode}).toEqual({ends: ['exited', 'closed'], exitCode: 7});
	expect(countLines(text)).toBeTypeOf('number');
});

test('a new program that does not answer is ended', async () => {
	const path = join(scratchDirectory(), 'hangs.cjs');
	writeFileSync(path, `console.log('x'); setInterval(() => {}, 1000);`);
	const command = {file: process.execPath, program: ['node', path], words: ['serve']};
	await expect(askNextProgram(createNativeBackend()!, command, 300)).rejects.toThrow('did not answer within 300 ms');
});

test('a new program without settings that the server was started with is refused', async () => {
	const server = new UpgradableServer(['--max-processes', '50']);
	await server.command.url();
	server.install(`process.argv.push('--no-such-setting'); require(${JSON.stringify(PROGRAM)});`);
	server.signal();
	await server.command.logs('not upgraded, the server goes on');
	expect(server.command.stderr).toContain('no-such-setting');
});

test('if the system does not run the new program, connections and processes go on', async () => {
	const runtime = join(scratchDirectory(), 'node');
	try {
		linkSync(process.execPath, runtime);
	} catch {
		copyFileSync(process.execPath, runtime);
	}
	const server = new UpgradableServer([], {runtime});
	const client = await joined(await server.command.url());
	const stop = join(scratchDirectory(), 'stop');
	await client.sh('p', counting(stop));
	await client.sh('input', 'cat', {io: {pipe: {stdin: 'open'}}});
	await client.shows('p', 'line 1\n');
	server.install(`require('node:fs').unlinkSync(process.execPath); ${AGREES}`);
	server.signal();
	await server.command.logs('the system refuses to run');
	await client.write('input', 'still here\n', 'w');
	await client.shows('input', 'still here');
	writeFileSync(stop, '');
	const {stdout, exitCode} = await client.done('p');
	expect(exitCode).toBe(7);
	expect(countLines(stdout)).toBeTypeOf('number');
	process.kill(server.command.pid, 'SIGHUP');
	await server.command.logs('there is nothing to reload');
	expect(client.closed).toBe(false);
});

test('a state of another version is refused before anything is touched', async () => {
	const other = await run(['--check-handoff', String(HANDOFF_VERSION + 1), 'serve']);
	expect(other).toMatchObject({code: 1, stdout: ''});
	expect(other.stderr).toContain(`this program reads ${HANDOFF_VERSION}`);
	expect(await run(['--check-handoff', String(HANDOFF_VERSION), 'serve'])).toMatchObject({
		code: 0,
		stdout: `longarm reads handoff ${HANDOFF_VERSION}\n`,
	});
});

test('a descriptor that holds no state of this process keeps a server from starting', async () => {
	const {code, stderr} = await run(['serve'], {LONGARM_HANDOFF_FD: '0'});
	expect(code).not.toBe(0);
	expect(stderr).toContain('error: ');
});

test('a signal that comes while an upgrade is prepared does nothing', async () => {
	const server = new UpgradableServer();
	await server.command.url();
	server.install('setTimeout(() => process.exit(1), 500);');
	server.signal();
	await server.command.logs('"upgrading"');
	server.signal();
	await server.command.logs('an upgrade is being prepared');
	await server.command.logs('not upgraded, the server goes on');
	expect(server.command.stderr.split('"upgrading"')).toHaveLength(2);
});

test('a server on stdio is not upgraded, and says so', async () => {
	const command = new Command(['serve', '--listen', 'stdio']);
	command.child.stdin.write(`${JSON.stringify({id: 1, method: 'initialize', params: {clientName: 'test'}})}\n`);
	await command.until(() => command.stdout.includes('sessionId'), 'the session');
	process.kill(command.pid, 'SIGUSR2');
	await command.logs('a server on stdio has one client, and ends with it');
	command.child.stdin.end();
	expect(await command.ended).toEqual({code: 0, signal: null});
});
