import {expect, test} from 'vitest';
import {
	OPEN_STDIN,
	refusal,
	STUBBORN,
	served,
	snapshotOf,
	TERMINAL,
	terminate,
	toldPids,
} from '../helpers/process-api.js';
import {untilDead} from '../helpers/processes.js';
import type {TestClient} from '../helpers/test-client.js';

/** Has something to say when it is asked to end; the shell has, too, about its children, on stderr. */
const TIDY = `exec 2>/dev/null; trap 'echo bye; exit 5' TERM INT HUP; echo ready; while :; do sleep 0.02; done`;

const GRACEFUL = (timeoutMs: number): unknown => ({graceful: {timeoutMs}});

function signal(client: TestClient, processId: string, name: unknown): Promise<unknown> {
	return client.call('process/signal', {processId, signal: name});
}

test.each([
	['on pipes', {}],
	['on a terminal', TERMINAL],
])('a graceful terminate lets a process %s clean up', async (_, io) => {
	const {client} = await served();
	await client.sh('p', TIDY, io);
	await client.shows('p', 'ready');
	expect(await terminate(client, 'p', GRACEFUL(1_000_000))).toEqual({running: true});
	const {exitCode, stdout, pty} = await client.done('p');
	expect([exitCode, (stdout + pty).split(/\r?\n/)]).toEqual([5, ['ready', 'bye', '']]);
	expect(await terminate(client, 'p', GRACEFUL(1))).toEqual({running: false});
});

test('a graceful terminate kills when its time is up, and not before', async () => {
	const {client} = await served();
	await client.sh('p', STUBBORN);
	await toldPids(client, 'p', 1);
	expect(await terminate(client, 'p', GRACEFUL(1_000_000))).toEqual({running: true});
	expect(await client.call('process/wait', {processId: 'p', timeoutMs: 30})).toMatchObject({running: true});
	expect(await terminate(client, 'p', GRACEFUL(20))).toEqual({running: true});
	expect(await client.call('process/wait', {processId: 'p'})).toEqual({
		exitCode: 137,
		running: false,
		reason: 'terminated',
	});
});

test.each([['force'], [undefined], [null]])('a terminate with mode %s kills at once', async mode => {
	const {client} = await served();
	await client.sh('p', TIDY);
	await client.shows('p', 'ready');
	expect(await terminate(client, 'p', mode)).toEqual({running: true});
	expect(await client.done('p')).toEqual({exitCode: 137, stdout: 'ready\n', stderr: '', pty: ''});
});

test('a forced terminate does not wait for the time of a graceful one before it', async () => {
	const {client} = await served();
	await client.sh('p', STUBBORN);
	await toldPids(client, 'p', 1);
	await terminate(client, 'p', GRACEFUL(1_000_000));
	expect(await terminate(client, 'p', 'force')).toEqual({running: true});
	expect((await client.done('p')).exitCode).toBe(137);
});

test.each([
	['asked gently', GRACEFUL(1_000_000)],
	['killed', 'force'],
])('a process nobody knows is not running when it is %s', async (_, mode) => {
	const {client} = await served();
	expect(await terminate(client, 'nobody', mode)).toEqual({running: false});
});

test.each(['gently', {graceful: {}}, {graceful: {timeoutMs: -1}}, {}])(
	'a terminate with mode %j is refused and ends nothing',
	async mode => {
		const {client} = await served();
		await client.sh('p', 'cat', OPEN_STDIN);
		expect(await refusal(terminate(client, 'p', mode))).toMatchObject({code: -32602});
		expect((await snapshotOf(client, 'p')).running).toBe(true);
	},
);

test.each([
	['SIGUSR1', 'USR1'],
	['USR2', 'USR2'],
	['hup', 'HUP'],
	['SigTerm', 'TERM'],
	['SIGWINCH', 'WINCH'],
])('a signal is known by the name %s', async (name, short) => {
	const {client} = await served();
	const script = `exec 2>/dev/null; trap 'echo got ${short}; exit 6' ${short}; echo ready; while :; do sleep 0.02; done`;
	await client.sh('p', script);
	await client.shows('p', 'ready');
	expect(await signal(client, 'p', {name})).toEqual({});
	expect(await client.done('p')).toEqual({exitCode: 6, stdout: `ready\ngot ${short}\n`, stderr: '', pty: ''});
});

test('a signal reaches the whole process group, and an end by it is told as one by a signal', async () => {
	const {client} = await served();
	await client.sh('p', 'sleep 1000 & echo $$ $!; wait');
	const pids = await toldPids(client, 'p', 2);
	await signal(client, 'p', {name: 'KILL'});
	expect(await client.call('process/wait', {processId: 'p'})).toEqual({
		exitCode: 137,
		running: false,
		reason: 'signal',
	});
	await untilDead(...pids);
	expect(await signal(client, 'p', {name: 'KILL'})).toEqual({});
});

test.each(['NOPE', 'SIGNOPE', '', 'SIG', '9', 'constructor'])('there is no signal %j', async name => {
	const {client} = await served();
	await client.sh('p', 'cat', OPEN_STDIN);
	const refused = {
		code: -32602,
		message: `unknown signal ${name}`,
		data: {code: 'SIGNAL_UNKNOWN', context: {signal: name}, hint: 'Use a name such as SIGTERM or HUP.'},
	};
	expect(await refusal(signal(client, 'p', {name}))).toEqual(refused);
	expect(await refusal(signal(client, 'nobody', {name}))).toEqual(refused);
	expect((await snapshotOf(client, 'p')).running).toBe(true);
});

test.each(['SIGTERM', 'terminate', 'Interrupt', 'kill', 15, null, {}])(
	'the signal %j stays what it is for the peers: refused',
	async name => {
		const {client} = await served();
		await client.start('p', ['/bin/cat'], OPEN_STDIN);
		const refused = await refusal(signal(client, 'p', name));
		expect(refused).toEqual({code: -32602, message: expect.any(String) as unknown});
		expect((await snapshotOf(client, 'p')).running).toBe(true);
		expect(await signal(client, 'p', 'interrupt')).toEqual({});
		expect((await client.done('p')).exitCode).toBe(130);
	},
);
