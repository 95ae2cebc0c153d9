import {expect, test} from 'vitest';
import {OUTPUT_HIGH_WATER_BYTES} from '../../src/server/connection/flow-control.js';
import {ExecServer} from '../../src/server/server.js';
import {disconnect} from '../helpers/disconnect.js';
import {GatedBackend} from '../helpers/gated-backend.js';
import {pidOf} from '../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import {connected, execServer, join, rawPeer, serving} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';
import {waitTicks} from '../helpers/ticks.js';

/** Prints its process id and cannot be asked to end. */
const STUBBORN = `trap '' TERM INT HUP; echo $$; while :; do sleep 1000; done`;

test.each([
	['pipes', {pipeStdin: true}],
	['a terminal', {tty: true}],
])('processes on %s are asked to end, and their last words and their end are delivered first', async (_, extra) => {
	const host = await serving();
	const {client} = await join(host);
	await client.sh('p', `trap 'echo goodbye; exit 9' TERM; echo ready; read line`, extra);
	await client.shows('p', 'ready');
	await host.server.shutdown(Number.POSITIVE_INFINITY);
	await client.untilClosed();
	expect(client.output('p').toString()).toMatch(/^ready\r?\ngoodbye\r?\n$/);
	expect(client.about('p').at(-2)).toMatchObject({method: 'process/exited', params: {exitCode: 9}});
	expect(client.about('p').at(-1)).toMatchObject({method: 'process/closed'});
});

test('what a process says at the end is delivered, however much it is', async () => {
	const host = await serving();
	const {client} = await join(host);
	await client.sh('p', `trap 'head -c 3000000 /dev/zero; exit 0' TERM; echo ready; read line`, {pipeStdin: true});
	await client.shows('p', 'ready');
	await host.server.shutdown(1_000_000);
	await client.untilClosed();
	expect(client.output('p').length).toBe('ready\n'.length + 3_000_000);
});

test('last words that wait in the log for a client to make room are delivered, too', async () => {
	const host = await serving();
	const {client, end, socket} = await join(host);
	await client.sh('p', `trap 'head -c 100000 /dev/zero; exit 0' TERM; echo ready; read line`, {pipeStdin: true});
	await client.shows('p', 'ready');
	socket.pause();
	// Fills everything between its pipe and the client, so that nothing else gets through.
	client.start('flood', ['/bin/cat', '/dev/zero']).catch(() => {});
	await eventually(() => end.rpc.backlog >= OUTPUT_HIGH_WATER_BYTES);
	const over = host.server.shutdown(1_000_000);
	await eventually(() => [...end.session.processes].every(({state}) => state.kind === 'closed'));
	socket.resume();
	await over;
	await client.untilClosed();
	expect(client.output('p').length).toBe('ready\n'.length + 100_000);
	for (const id of ['p', 'flood']) expect(client.about(id).at(-1)).toMatchObject({method: 'process/closed'});
});

test.each([
	['pipes', {}],
	['a terminal', {tty: true}],
])('what does not end within the grace period is killed, on %s', async (_, extra) => {
	const host = await serving();
	const {client} = await join(host);
	await client.sh('p', STUBBORN, extra);
	const pid = await pidOf(client, 'p');
	await host.server.shutdown(20);
	expect(isAlive(pid)).toBe(false);
	await client.untilClosed();
	expect(client.about('p').find(({method}) => method === 'process/exited')?.params['exitCode']).toBe(137);
});

test('descendants in the group of a process end with it', async () => {
	const host = await serving();
	const {client} = await join(host);
	await client.sh('p', 'sleep 1000 & (sleep 1000 & echo $! ) ; echo $!; echo $$; wait');
	await client.until(() => client.output('p').toString().split('\n').length === 4);
	const pids = client.output('p').toString().trim().split('\n').map(Number);
	expect(pids.filter(isAlive)).toHaveLength(3);
	await host.server.shutdown(0);
	await untilDead(...pids);
});

test('the processes of a detached session end too', async () => {
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', STUBBORN);
	const pid = await pidOf(first.client, 'p');
	await disconnect(first);
	await host.server.shutdown(0);
	expect(isAlive(pid)).toBe(false);
});

test('while it shuts down the server starts nothing and says why; everything else is still answered', async () => {
	const host = await serving();
	const {client} = await join(host);
	await client.sh('p', `trap 'echo asked' TERM; echo ready; while :; do sleep 0.01 2> /dev/null; done`);
	await client.shows('p', 'ready');
	const over = host.server.shutdown(1_000_000);
	await client.shows('p', 'asked');
	await expect(client.sh('late', 'true')).rejects.toMatchObject({
		code: -32603,
		message: 'the server is shutting down',
		data: {code: 'SHUTTING_DOWN', context: {}, hint: expect.any(String) as string},
	});
	expect(await client.call('environment/status')).toEqual({status: 'ready'});
	expect(await client.call('process/terminate', {processId: 'p'})).toEqual({running: true});
	await over;
	await client.untilClosed();
});

test('while it shuts down new connections are dropped', async () => {
	const host = await serving();
	const {client} = await join(host);
	await client.sh('p', `trap 'echo asked' TERM; echo ready; while :; do sleep 0.01 2> /dev/null; done`);
	await client.shows('p', 'ready');
	const over = host.server.shutdown(1_000_000);
	await client.shows('p', 'asked');
	const peer = await rawPeer(host.url);
	await peer.untilClosed();
	expect(peer.texts).toEqual([]);
	await client.call('process/terminate', {processId: 'p'});
	await over;
});

test('a start that has not had its turn is cancelled', async () => {
	const backend = new GatedBackend();
	const host = await serving({backend: () => backend});
	const {client} = await join(host);
	const start = client.sh('p', 'exec sleep 1000').catch((error: unknown) => error);
	await eventually(() => backend.waiting === 1);
	await host.server.shutdown(0);
	expect(await start).toMatchObject({code: -32600, message: 'process p start was cancelled'});
	backend.open();
	await untilDead(backend.children[0]!.pid);
});

test('a client that does not read does not keep the server from ending', async () => {
	const host = await serving();
	const {client, end, socket} = await join(host);
	socket.pause();
	client.start('flood', ['/bin/cat', '/dev/zero']).catch(() => {});
	const process = await eventually(() => end.session.processes.find('flood'));
	await eventually(() => process.log.totalBytes > 1_000_000);
	await host.server.shutdown(0);
	expect(process.state.kind).toBe('closed');
});

test('a second shutdown is the first one', async () => {
	const server = execServer();
	const client = await TestClient.overMemory(server).initialize();
	await client.sh('p', STUBBORN);
	const pid = await pidOf(client, 'p');
	const first = server.shutdown(20);
	expect(server.shutdown(1_000_000)).toBe(first);
	await first;
	expect(isAlive(pid)).toBe(false);
});

test('killing ends every process at once and leaves the server as it is', async () => {
	const server = execServer();
	const client = await TestClient.overMemory(server).initialize();
	await client.sh('p', STUBBORN);
	server.kill();
	expect((await client.done('p')).exitCode).toBe(137);
	await client.sh('q', 'echo still here');
	expect((await client.done('q')).stdout).toBe('still here\n');
});

test('a server without processes ends at once, also with clients that never said hello', async () => {
	const host = await serving();
	const silent = await connected(host.url);
	const gone = new Promise<number>(resolve => silent.once('close', resolve));
	await host.server.shutdown(1_000_000);
	expect(await gone).toBe(1005);
});

test('two servers in one program do not disturb each other', async () => {
	const [one, two] = [await serving(), await serving()];
	const [{client: ours}, {client: theirs}] = [await join(one), await join(two)];
	await theirs.sh('long', 'echo $$; read line; echo "$line"; exit 5', {pipeStdin: true});
	const pid = await pidOf(theirs, 'long');
	await Promise.all(
		Array.from({length: 30}, async (_, index) => {
			const client = index % 2 === 0 ? ours : theirs;
			await client.sh(`p${index}`, `echo ${index}; exit ${index}`);
			expect(await client.done(`p${index}`)).toEqual({exitCode: index, stdout: `${index}\n`, stderr: '', pty: ''});
		}),
	);
	await expect(ours.call('initialize', {clientName: 'c'})).rejects.toThrow('once per connection');
	const stranger = await TestClient.overWebSocket(one.url);
	await expect(stranger.initialize(theirs.sessionId)).rejects.toThrow(`unknown session id ${theirs.sessionId}`);
	await ours.sh('left', STUBBORN);
	await one.server.shutdown(0);
	await waitTicks();
	expect(isAlive(pid)).toBe(true);
	await theirs.write('long', 'undisturbed\n', 'w');
	expect(await theirs.done('long')).toMatchObject({exitCode: 5, stdout: `${pid}\nundisturbed\n`});
});

test('a server that was never used ends', async () => {
	await expect(new ExecServer().shutdown()).resolves.toBeUndefined();
});
