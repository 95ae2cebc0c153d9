import {expect, test} from 'vitest';
import {OPEN_STDIN, refusal, served, TERMINAL} from '../helpers/process-api.js';
import {TestClient} from '../helpers/test-client.js';

function closeStdin(client: TestClient, processId: string): Promise<unknown> {
	return client.call('process/closeStdin', {processId});
}

/** Reads nothing until it gets SIGUSR1, then counts the bytes of its input. */
const COUNTING = `stty -echo 2>/dev/null; trap : USR1; sleep 1000 & echo ready; wait; exec wc -c`;

test('what the process api adds to the protocol is announced, at the handshake and on request', async () => {
	const {url, client} = await served();
	const onRequest = await client.call<{capabilities: Record<string, boolean>}>('environment/info');
	const atHandshake = await (await TestClient.overWebSocket(url)).call('initialize', {clientName: 'test'});
	expect(atHandshake['environmentInfo']).toEqual(onRequest);
	const announced = Object.entries(onRequest.capabilities).filter(([name]) => name.startsWith('process'));
	expect(Object.fromEntries(announced)).toEqual({
		processAcknowledge: true,
		processCloseStdin: true,
		processResize: true,
		processWait: true,
		processSnapshot: true,
		processList: true,
		processIo: true,
		processTimeLimit: true,
		processSignalByName: true,
		processTerminateMode: true,
		processOnDisconnect: true,
		processPrepared: true,
		processAttach: true,
		processWaitFor: true,
		processWaitForFlags: true,
		processScreen: true,
		processShare: true,
		processUnshare: true,
		// There is no state directory.
		processSpill: false,
		processRecord: false,
		processDurable: false,
	});
});

test.each(['closeStdin', 'resize', 'wait', 'snapshot'])('%s of a process nobody knows is refused', async method => {
	const {client} = await served();
	const size = {rows: 1, cols: 1};
	expect(await refusal(client.call(`process/${method}`, {processId: 'nobody', ...size}))).toEqual({
		code: -32600,
		message: 'unknown process id nobody',
	});
});

test('closing stdin is the end of input behind everything that was written', async () => {
	const {client} = await served();
	await client.sh('p', 'cat; echo over', OPEN_STDIN);
	const writes = ['a', 'b', 'c'].map(text => client.write('p', text, text));
	expect(await closeStdin(client, 'p')).toEqual({});
	expect(await Promise.all(writes)).toEqual([{status: 'accepted'}, {status: 'accepted'}, {status: 'accepted'}]);
	expect(await client.done('p')).toEqual({exitCode: 0, stdout: 'abcover\n', stderr: '', pty: ''});
});

test.each([
	['a pipe', OPEN_STDIN],
	['a terminal', TERMINAL],
])('on %s the end of input stands behind writes that still wait for a slow reader', async (_, io) => {
	const {client} = await served();
	await client.sh('p', COUNTING, io);
	await client.shows('p', 'ready');
	const chunk = `${'x'.repeat(63)}\n`.repeat(16);
	const accepted: unknown[] = [];
	const writes = Array.from({length: 300}, async (__, index) => {
		accepted.push(await client.write('p', chunk, `w${index}`));
	});
	expect(await closeStdin(client, 'p')).toEqual({});
	expect(accepted.length).toBeLessThan(writes.length);
	expect(await client.write('p', 'too late', 'late')).toEqual({status: 'stdinClosed'});
	await client.call('process/signal', {processId: 'p', signal: {name: 'USR1'}});
	await Promise.all(writes);
	expect(accepted).toEqual(Array.from({length: 300}, () => ({status: 'accepted'})));
	const {exitCode, stdout, pty} = await client.done('p');
	expect([exitCode, (stdout + pty).trim().split(/\s+/)]).toEqual([0, ['ready', String(300 * 1024)]]);
});

test('closing the stdin of a terminal types end-of-file, and the terminal goes on without input', async () => {
	const {client} = await served();
	await client.sh('p', 'stty -echo; echo ready; cat; echo "cat left $?"; sleep 1000', TERMINAL);
	await client.shows('p', 'ready');
	await client.write('p', 'hello\n', 'w');
	await closeStdin(client, 'p');
	await client.shows('p', 'cat left 0');
	expect(client.output('p').toString()).toBe('ready\r\nhello\r\ncat left 0\r\n');
	expect(await client.write('p', 'too late\n', 'late')).toEqual({status: 'stdinClosed'});
});

test.each([
	['twice', 'cat', OPEN_STDIN],
	['of a process that never had one', 'true', {io: {pipe: {stdin: 'closed'}}}],
	['of a process that has ended', 'exit 0', OPEN_STDIN],
])('closing stdin %s changes nothing', async (_, script, io) => {
	const {client} = await served();
	await client.sh('p', script, io);
	await closeStdin(client, 'p');
	await client.event('p', 'process/closed');
	expect(await closeStdin(client, 'p')).toEqual({});
	expect(await client.write('p', 'x', 'w')).toEqual({status: 'stdinClosed'});
});

test('a terminal starts with the size it was asked for, and is told of a new one while it runs', async () => {
	const {client} = await served();
	const script = `trap 'stty size; exit 4' WINCH; stty size; while :; do sleep 0.02; done`;
	await client.sh('p', script, {io: {pty: {rows: 40, cols: 100}}});
	await client.shows('p', '40 100');
	expect(await client.call('process/resize', {processId: 'p', rows: 65_535, cols: 1})).toEqual({});
	expect(await client.done('p')).toEqual({exitCode: 4, stdout: '', stderr: '', pty: '40 100\r\n65535 1\r\n'});
	expect(await client.call('process/resize', {processId: 'p', rows: 1, cols: 1})).toEqual({});
});

test('io wins over tty and pipeStdin', async () => {
	const {client} = await served();
	const script = 'test -t 1 && echo terminal; cat';
	await client.sh('terminal', `${script} > /dev/null`, {tty: false, ...TERMINAL});
	await client.sh('open', script, {tty: true, ...OPEN_STDIN});
	await client.sh('closed', script, {tty: true, pipeStdin: true, io: {pipe: {stdin: 'closed'}}});
	await client.shows('terminal', 'terminal\r\n');
	expect(await client.write('open', 'input', 'w')).toEqual({status: 'accepted'});
	await closeStdin(client, 'open');
	expect(await client.done('open')).toEqual({exitCode: 0, stdout: 'input', stderr: '', pty: ''});
	expect(await client.write('closed', 'input', 'w')).toEqual({status: 'stdinClosed'});
	expect(await client.done('closed')).toEqual({exitCode: 0, stdout: '', stderr: '', pty: ''});
});

test('what has no terminal cannot be resized, and the error says why', async () => {
	const {client} = await served();
	await client.sh('p', 'cat', OPEN_STDIN);
	const refused = {
		code: -32600,
		message: 'process p has no terminal',
		data: {code: 'NO_TERMINAL', context: {processId: 'p'}, hint: 'Start it with tty, or with io.pty.'},
	};
	const resize = (): Promise<unknown> => refusal(client.call('process/resize', {processId: 'p', rows: 24, cols: 80}));
	expect(await resize()).toEqual(refused);
	await closeStdin(client, 'p');
	await client.event('p', 'process/closed');
	expect(await resize()).toEqual(refused);
});

test.each([
	[0, 80],
	[24, 65_536],
	[24.5, 80],
	[-1, 80],
	['24', 80],
])('a terminal cannot be %s by %s', async (rows, cols) => {
	const {client} = await served();
	await client.sh('p', 'stty size; cat', TERMINAL);
	await client.shows('p', '24 80');
	expect(await refusal(client.call('process/resize', {processId: 'p', rows, cols}))).toMatchObject({code: -32602});
	expect(await refusal(client.sh('q', 'stty size', {io: {pty: {rows, cols}}}))).toMatchObject({code: -32602});
	expect(await refusal(client.call('process/wait', {processId: 'q'}))).toMatchObject({code: -32600});
});
