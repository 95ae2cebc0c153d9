// covers: src/client/session/recovery.ts, src/cli/commands/run (lost connections)
import {randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {existsSync, writeFileSync} from 'node:fs';
import {type AddressInfo, createServer} from 'node:net';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {Command, PROGRAM} from '../helpers/command.js';
import {Cuttable} from '../helpers/cuttable.js';
import {eventually} from '../helpers/processes.js';
import {scratchDirectory} from '../helpers/scratch.js';

const LOST = 'longarm: the link is lost, connecting again; two Ctrl-C leave\n';
const BACK = 'longarm: the link is back\n';
const OUR_OWN_FAILURE = 125;

async function line(): Promise<Cuttable> {
	return Cuttable.to(await new Command(['serve', '--log-level', 'warn']).url());
}

test('a command runs on while the link is made again, and both is said', async () => {
	const link = await line();
	const go = join(scratchDirectory(), 'go');
	const script = `echo one; until [ -e ${go} ]; do sleep 0.01; done; echo two; exit 4`;
	const command = new Command(['run', '-e', link.url, '--', 'sh', '-c', script]);
	await command.until(() => command.stdout === 'one\n', 'the first line');
	link.cut();
	await command.logs(BACK);
	writeFileSync(go, '');
	expect(await command.ended).toEqual({code: 4, signal: null});
	expect([command.stdout, command.stderr]).toEqual(['one\ntwo\n', LOST + BACK]);
});

test('output that was not kept while there was no link is announced with its size', async () => {
	const link = await line();
	const [go, done] = ['go', 'done'].map(name => join(scratchDirectory(), name)) as [string, string];
	const script = `echo one; until [ -e ${go} ]; do sleep 0.01; done; head -c 3000000 /dev/zero; : > ${done}; sleep 1000`;
	const command = new Command(['run', '-e', link.url, '--', 'sh', '-c', script]);
	await command.until(() => command.stdout === 'one\n', 'the first line');
	link.isOpen = false;
	link.cut();
	await command.logs(LOST);
	writeFileSync(go, '');
	await eventually(() => existsSync(done));
	link.isOpen = true;
	await command.logs('missing here');
	const missing = Number(/^longarm: (\d+) bytes of output are missing here$/m.exec(command.stderr)![1]);
	await command.until(() => command.stdout.length + missing === 3_000_004, 'everything else');
	expect(missing).toBeGreaterThan(1_000_000);
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual({code: 143, signal: null});
});

test('input goes on where it was when the link is back, each byte once', async () => {
	const link = await line();
	const command = new Command(['run', '-e', link.url, '--', 'cat'], {ownStdout: true});
	const content = randomBytes(2_000_000);
	const received: Buffer[] = [];
	const size = (): number => received.reduce((sum, {length}) => sum + length, 0);
	command.child.stdout.on('data', (chunk: Buffer) => received.push(chunk));
	command.child.stdin.write(content.subarray(0, 500_000));
	await eventually(() => size() === 500_000);
	link.isOpen = false;
	link.cut();
	await command.logs(LOST);
	command.child.stdin.write(content.subarray(500_000, 1_000_000));
	link.isOpen = true;
	await command.logs(BACK);
	command.child.stdin.end(content.subarray(1_000_000));
	expect(await command.ended).toEqual({code: 0, signal: null});
	await eventually(() => size() >= content.length);
	expect(Buffer.concat(received).equals(content)).toBe(true);
});

test('two Ctrl-C leave a command behind that cannot be reached', async () => {
	const link = await line();
	const command = new Command(['run', '-e', link.url, '--', 'sh', '-c', 'echo ready; sleep 1000']);
	await command.until(() => command.stdout === 'ready\n', 'it was ready');
	link.isOpen = false;
	link.cut();
	await command.logs(LOST);
	command.child.kill('SIGINT');
	command.child.kill('SIGTERM');
	expect(await command.ended).toEqual({code: OUR_OWN_FAILURE, signal: null});
	expect(command.stderr).toContain('error: left before the end of the process was known\n');
});

test('a link that cannot be made again is a failure of our own, not an exit', async () => {
	const server = `cmd:exec ${process.execPath} ${PROGRAM} serve --listen stdio`;
	const command = new Command(['run', '-e', server, '--', 'sh', '-c', 'echo ready; read x; kill -9 $PPID; sleep 1000']);
	await command.until(() => command.stdout === 'ready\n', 'it was ready');
	command.child.stdin.write('go\n');
	expect(await command.ended).toEqual({code: OUR_OWN_FAILURE, signal: null});
	expect(command.stderr).toMatch(/^error: exec-server transport disconnected.*\nhint: .*\n$/);
});

test('Ctrl-C while nothing has been started yet leaves at once', async () => {
	const silent = createServer(() => {});
	await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve));
	onTestFinished(() => void silent.close());
	const asked = once(silent, 'connection');
	const command = new Command(['run', '-e', `ws://127.0.0.1:${(silent.address() as AddressInfo).port}`, 'true']);
	await asked;
	command.child.kill('SIGINT');
	expect(await command.ended).toEqual({code: 130, signal: null});
});
