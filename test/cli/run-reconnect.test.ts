// covers: src/client/session/recovery.ts, src/cli/commands/run (lost connections)
import {execFileSync} from 'node:child_process';
import {createHash, randomBytes} from 'node:crypto';
import {once} from 'node:events';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {type AddressInfo, createServer} from 'node:net';
import {join} from 'node:path';
import {expect, onTestFinished, test} from 'vitest';
import {Command, PROGRAM, run} from '../helpers/command.js';
import {Cuttable} from '../helpers/cuttable.js';
import {OnTerminal} from '../helpers/on-terminal.js';
import {eventually} from '../helpers/processes.js';
import {RawPeer} from '../helpers/raw-peer.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {listening} from '../helpers/serving.js';

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

test('a command is held back while there is no link, and nothing of it is missing', async () => {
	const link = await line();
	const [go, pid] = ['go', 'pid'].map(name => join(scratchDirectory(), name)) as [string, string];
	const script = `echo one; until [ -e ${go} ]; do sleep 0.01; done; echo $$ > ${pid}; exec head -c 3000000 /dev/zero`;
	const command = new Command(['run', '-e', link.url, '--', 'sh', '-c', script]);
	await command.until(() => command.stdout === 'one\n', 'the first line');
	link.isOpen = false;
	link.cut();
	await command.logs(LOST);
	writeFileSync(go, '');
	// More than a server keeps of a process that is not held back.
	await eventually(() => existsSync(pid) && writtenBy(readFileSync(pid, 'utf8').trim()) > 1_100_000);
	link.isOpen = true;
	expect(await command.ended).toEqual({code: 0, signal: null});
	expect([command.stdout.length, command.stderr]).toEqual([3_000_004, LOST + BACK]);
});

test('over many cuts a pipeline gets every byte', async () => {
	const link = await line();
	const total = 24_000_000;
	const command = new Command(['run', '-e', link.url, '--', 'sh', '-c', `seq 1 4000000 | head -c ${total}`], {
		ownStdout: true,
	});
	const hash = createHash('sha256');
	command.child.stdout.on('data', (chunk: Buffer) => hash.update(chunk));
	const closed = once(command.child.stdout, 'close');
	let cuts = 0;
	const isOver = command.ended.then(() => true);
	for (let passed = 0; ; passed = link.passed + 1_500_000) {
		if (await Promise.race([link.until(passed), isOver])) break;
		link.cut();
		cuts++;
	}
	expect(await command.ended).toEqual({code: 0, signal: null});
	await closed;
	const expected = execFileSync('sh', ['-c', `seq 1 4000000 | head -c ${total} | sha256sum`], {encoding: 'utf8'});
	expect(hash.digest('hex')).toBe(expected.slice(0, 64));
	expect(cuts).toBeGreaterThan(5);
});

test('output that a server did not keep makes the exit code that of a failure, unless a person sees the gap', async () => {
	const url = await forgetfulServer();
	const piped = await run(['run', '-e', url, 'true']);
	expect([piped.code, piped.stdout]).toEqual([OUR_OWN_FAILURE, 'three']);
	expect(piped.stderr).toContain('longarm: 8 bytes of output are missing here\n');
	expect(piped.stderr).toContain('error: 8 bytes of output are missing; the command itself exited with code 0\n');
	const seen = await OnTerminal.longarm('run', '-e', url, 'true');
	expect(await seen.exited).toMatchObject({exitCode: 0});
	expect(seen.text).toContain('8 bytes of output are missing here');
});

/** Bytes a process has written; endless once it is gone. */
function writtenBy(pid: string): number {
	try {
		return Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
	} catch {
		return Number.POSITIVE_INFINITY;
	}
}

/** Hangs up after the start of a process, and has lost the beginning of its output when the client is back. */
async function forgetfulServer(): Promise<string> {
	// The client hangs up once it has everything.
	return listening(transport => void serveForgetfully(new RawPeer(transport)).catch(() => {}));
}

async function serveForgetfully(peer: RawPeer): Promise<void> {
	const info = {shell: {name: 'sh', path: '/bin/sh'}, cwd: 'file:///', capabilities: {}};
	const page = {nextSeq: 5, exited: true, exitCode: 0, closed: true, failure: null, missedBytes: 8};
	const answers: Record<string, unknown> = {
		initialize: {sessionId: 'session', environmentInfo: info},
		'environment/info': info,
		'process/start': {processId: 'p'},
		'process/read': {...page, chunks: [{seq: 2, stream: 'stdout', chunk: btoa('three')}]},
	};
	for (;;) {
		const {id, method} = await peer.next<{id?: number; method: string}>();
		if (id !== undefined) peer.send({id, result: answers[method] ?? {}});
		if (method !== 'process/start') continue;
		await new Promise(resolve => setImmediate(resolve));
		peer.transport.close();
		return;
	}
}

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
