import {afterEach, expect, test, vi} from 'vitest';
import {disconnect} from '../../helpers/disconnect.js';
import {outcomeOf, pidOf, toldPids} from '../../helpers/process-api.js';
import {isAlive, untilDead} from '../../helpers/processes.js';
import {join, rawPeer, serving} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

/** Prints its process id and waits. */
const WAITING = 'echo $$; exec sleep 1000';

afterEach(() => {
	vi.useRealTimers();
});

test('a dropped session is resumed with its processes, under its own id', async () => {
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', 'echo before; read line; echo "after $line"', {pipeStdin: true});
	await first.client.shows('p', 'before');
	await disconnect(first);
	const second = await join(host, first.client.sessionId);
	expect(second.client.sessionId).toBe(first.client.sessionId);
	expect(await second.client.write('p', 'again\n', 'w')).toEqual({status: 'accepted'});
	expect(await second.client.done('p')).toEqual({exitCode: 0, stdout: 'after again\n', stderr: '', pty: ''});
	expect(second.client.about('p').map(({params}) => params.seq)).toEqual([2, 3, 4]);
});

test('a resumed connection has to say initialized too', async () => {
	const host = await serving();
	const first = await join(host);
	await disconnect(first);
	const client = await TestClient.overWebSocket(host.url);
	await client.call('initialize', {clientName: 'c', resumeSessionId: first.client.sessionId});
	expect(await outcomeOf(client.call('process/terminate', {processId: 'p'}))).toEqual({
		code: -32600,
		message: 'client must send initialized before using exec methods',
	});
});

test('an attached session cannot be had, its holder is not disturbed, and the attempt may be repeated', async () => {
	const host = await serving();
	const holder = await join(host);
	await holder.client.sh('p', 'read line; echo "$line"', {pipeStdin: true});
	const {sessionId} = holder.client;
	const other = await TestClient.overWebSocket(host.url);
	expect(await outcomeOf(other.initialize(sessionId))).toEqual({
		code: -32010,
		message: `session ${sessionId} is already attached to another connection`,
	});
	await holder.client.write('p', 'undisturbed\n', 'w');
	expect((await holder.client.done('p')).stdout).toBe('undisturbed\n');
	await disconnect(holder);
	await other.initialize(sessionId);
	expect(await other.call('process/read', {processId: 'p'})).toMatchObject({closed: true, exitCode: 0});
});

test('of many who resume at the same time one wins', async () => {
	const host = await serving();
	const first = await join(host);
	await disconnect(first);
	const clients = await Promise.all(Array.from({length: 8}, () => TestClient.overWebSocket(host.url)));
	const {sessionId} = first.client;
	const outcomes = await Promise.all(clients.map(client => outcomeOf(client.initialize(sessionId))));
	const refused = {code: -32010, message: `session ${sessionId} is already attached to another connection`};
	expect(outcomes.filter(outcome => outcome === 'accepted')).toHaveLength(1);
	expect(outcomes.filter(outcome => outcome !== 'accepted')).toEqual(Array.from({length: 7}, () => refused));
});

test('a session that nobody resumed is gone, and its processes with it, on pipes and on a terminal', async () => {
	const host = await serving({detachedSessionMs: 20});
	const first = await join(host);
	await first.client.sh('pipes', `sleep 1000 & echo $! $$; trap '' TERM INT HUP; wait`);
	await first.client.sh('terminal', WAITING, {tty: true});
	await first.client.shows('pipes', '\n');
	const pids = first.client.output('pipes').toString().trim().split(' ').map(Number);
	const terminal = await pidOf(first.client, 'terminal');
	await disconnect(first);
	await untilDead(...pids, terminal);
	const second = await TestClient.overWebSocket(host.url);
	expect(await outcomeOf(second.initialize(first.client.sessionId))).toEqual({
		code: -32600,
		message: `unknown session id ${first.client.sessionId}`,
	});
});

test('the time runs from the last detachment, and only while detached', async () => {
	const host = await serving({detachedSessionMs: 1000});
	let {client, end} = await join(host);
	await client.sh('p', WAITING);
	const pid = await pidOf(client, 'p');
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'performance']});
	for (let absence = 0; absence < 3; absence++) {
		await disconnect({client, end});
		vi.advanceTimersByTime(999);
		({client, end} = await join(host, client.sessionId));
		vi.advanceTimersByTime(10_000);
		expect(isAlive(pid)).toBe(true);
	}
	await disconnect({client, end});
	vi.advanceTimersByTime(1000);
	vi.useRealTimers();
	await untilDead(pid);
});

test('a time beyond what timers can count is long, not short', async () => {
	const host = await serving({detachedSessionMs: Number.POSITIVE_INFINITY});
	const first = await join(host);
	await disconnect(first);
	const other = await join(host);
	for (let count = 0; count < 10; count++) {
		await other.client.sh(`p${count}`, 'true');
		await other.client.done(`p${count}`);
	}
	expect((await join(host, first.client.sessionId)).client.sessionId).toBe(first.client.sessionId);
});

test('sessions do not see the processes of each other', async () => {
	const host = await serving();
	const [{client: ours}, {client: theirs}] = [await join(host), await join(host)];
	await ours.sh('p', 'echo ours; read line; echo "$line"', {pipeStdin: true});
	expect(await outcomeOf(theirs.call('process/read', {processId: 'p'}))).toEqual({
		code: -32600,
		message: 'unknown process id p',
	});
	expect(await theirs.write('p', 'stolen\n', 'w')).toEqual({status: 'unknownProcess'});
	expect(await theirs.call('process/signal', {processId: 'p', signal: 'interrupt'})).toEqual({});
	expect(await theirs.call('process/terminate', {processId: 'p'})).toEqual({running: false});
	await theirs.sh('p', 'echo theirs');
	expect((await theirs.done('p')).stdout).toBe('theirs\n');
	await ours.write('p', 'still here\n', 'w');
	expect((await ours.done('p')).stdout).toBe('ours\nstill here\n');
	expect(theirs.events.filter(({params}) => params.processId !== 'p')).toEqual([]);
});

test('a connection that the server closed for breaking the rules leaves its session behind', async () => {
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', WAITING);
	const pid = await pidOf(first.client, 'p');
	const noticed = new Promise<void>(resolve => first.end.lifetime.add(resolve));
	first.client.rpc.notify('no/such', {});
	await noticed;
	const second = await join(host, first.client.sessionId);
	expect(isAlive(pid)).toBe(true);
	expect(await second.client.call('process/terminate', {processId: 'p'})).toEqual({running: true});
});

test('what stands behind a broken rule in the same packet is not carried out', async () => {
	const host = await serving();
	const peer = await rawPeer(host.url);
	await peer.ask({id: 1, method: 'initialize', params: {clientName: 'c'}});
	peer.send({method: 'initialized'});
	const end = host.ends.at(-1)!;
	const noticed = new Promise<void>(resolve => end.lifetime.add(resolve));
	peer.send({method: 'no/such'});
	const start = {processId: 'p', argv: ['/bin/sleep', '1000'], cwd: 'file:///', env: {}, tty: false};
	peer.send({id: 2, method: 'process/start', params: start});
	await noticed;
	expect([...end.session.processes]).toEqual([]);
});

test('a long poll does not keep a dropped session from being resumed, nor does it answer the next connection', async () => {
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', 'read line; echo "$line"', {pipeStdin: true});
	const poll = outcomeOf(first.client.call('process/read', {processId: 'p', waitMs: 1_000_000}));
	await first.client.call('environment/status');
	await disconnect(first);
	expect(await poll).toMatchObject({name: 'DisconnectedError'});
	const second = await join(host, first.client.sessionId);
	const next = second.client.call<{chunks: unknown[]}>('process/read', {processId: 'p', waitMs: 1_000_000});
	await second.client.write('p', 'hello\n', 'w');
	expect((await next).chunks).toHaveLength(1);
});

test('ids and accepted writes are remembered across connections', async () => {
	const host = await serving();
	const first = await join(host);
	await first.client.sh('p', 'cat', {pipeStdin: true});
	await first.client.write('p', 'once\n', 'w1');
	await first.client.shows('p', 'once');
	await disconnect(first);
	const {client} = await join(host, first.client.sessionId);
	expect(await outcomeOf(client.sh('p', 'true'))).toEqual({code: -32600, message: 'process p already exists'});
	expect(await client.write('p', 'once\n', 'w1')).toEqual({status: 'accepted'});
	await client.write('p', 'twice\n', 'w2');
	await client.shows('p', 'twice');
	const {chunks} = await client.call<{chunks: {chunk: string}[]}>('process/read', {processId: 'p'});
	expect(chunks.map(({chunk}) => Buffer.from(chunk, 'base64').toString()).join('')).toBe('once\ntwice\n');
});

test('what a finished process left running ends with the session, when its time without a connection is over', async () => {
	const joined = await join(await serving({detachedSessionMs: 0}));
	const {client} = joined;
	await client.sh('p', 'sleep 1000 > /dev/null 2>&1 & echo $!');
	const [left] = await toldPids(client, 'p', 1);
	await client.done('p');
	expect(isAlive(left!)).toBe(true);
	await disconnect(joined);
	await untilDead(left!);
});

test('beyond the bound the oldest detached session without processes ends, the others are kept', async () => {
	const host = await serving({maxDetachedSessions: 2});
	const busy = await join(host);
	await busy.client.sh('p', WAITING);
	const [idle, last] = [await join(host), await join(host)];
	for (const each of [busy, idle, last]) await disconnect(each);
	expect(await outcomeOf(join(host, idle.client.sessionId))).toEqual({
		code: -32600,
		message: `unknown session id ${idle.client.sessionId}`,
	});
	for (const each of [busy, last]) await join(host, each.client.sessionId);
});

test('no session begins while as many as are kept are detached with processes; one that is resumed makes room', async () => {
	const host = await serving({maxDetachedSessions: 2});
	const busy = [await join(host), await join(host)];
	for (const each of busy) {
		await each.client.sh('p', WAITING);
		await disconnect(each);
	}
	const client = await TestClient.overWebSocket(host.url);
	expect(await outcomeOf(client.initialize())).toEqual({
		code: -32603,
		message: '2 sessions without a token are detached with processes already',
	});
	await join(host, busy[0]!.client.sessionId);
	expect(await outcomeOf(client.initialize())).toBe('accepted');
});

test('detached sessions are counted by token', async () => {
	const {server} = await serving({maxDetachedSessions: 1});
	const open = (name: string): Promise<TestClient> => TestClient.overMemory(server, {name}).initialize();
	const first = await open('a');
	await first.sh('p', WAITING);
	await disconnect({server, client: first});
	expect(await outcomeOf(open('a'))).toMatchObject({code: -32603});
	expect(await outcomeOf(open('b'))).toBe('accepted');
});
