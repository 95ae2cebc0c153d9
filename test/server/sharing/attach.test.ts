// covers: src/server/sharing, src/server/handlers/sharing-handlers.ts, src/server/connection/output-pump.ts
import {expect, test, vi} from 'vitest';
import type {Grant} from '../../../src/server/auth/grant.js';
import type {ExecServer} from '../../../src/server/server.js';
import {memoryTransportPair} from '../../../src/transports/memory.js';
import {stopClock} from '../../helpers/clock.js';
import {OPEN_STDIN, refusal, TERMINAL} from '../../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../../helpers/processes.js';
import {RawPeer} from '../../helpers/raw-peer.js';
import {execServer} from '../../helpers/serving.js';
import {TestClient} from '../../helpers/test-client.js';

async function enter(server: ExecServer, name: string, grant?: Grant): Promise<TestClient> {
	const client = await TestClient.overMemory(server, grant).initialize(undefined, name);
	await client.call('environment/status');
	return client;
}

function numbered(client: TestClient): unknown[] {
	return client.about('build').flatMap(({method, params}) => (params.seq === undefined ? [] : [[method, params.seq]]));
}

function refused(client: TestClient, method: string, params: object): Promise<unknown> {
	return refusal(client.call(method, params));
}

interface Attached {
	readonly processId: string;
	readonly firstSeq: number;
	readonly nextSeq: number;
	readonly driver: string | null;
}

function attach(client: TestClient, process: string, extra: object = {}): Promise<Attached> {
	return client.call<Attached>('process/attach', {process, ...extra});
}

test('an observer gets the events of a process of another session with the same numbers, and its output so far', async () => {
	const server = execServer();
	const agent = await enter(server, 'agent');
	const human = await enter(server, 'human');
	await agent.sh('build', 'echo one; read line; echo two $line; exit 3', {...OPEN_STDIN, name: 'the-build'});
	await agent.shows('build', 'one');
	expect(await attach(human, 'the-build', {afterSeq: 0})).toEqual({
		processId: 'build',
		role: 'observe',
		firstSeq: 1,
		nextSeq: 2,
		rows: null,
		cols: null,
		driver: 'agent',
	});
	await human.shows('build', 'one');
	await agent.write('build', 'x\n');
	expect(await human.done('build')).toEqual(await agent.done('build'));
	expect(numbered(human)).toEqual(numbered(agent));
});

test('the answer to a client that attaches comes before the events it asked for', async () => {
	const server = execServer();
	const agent = await enter(server, 'agent');
	await agent.sh('build', 'echo one; echo two >&2; read line', {...OPEN_STDIN});
	await agent.shows('build', 'one');
	await agent.shows('build', 'two');
	const [near, far] = memoryTransportPair();
	server.accept(far);
	const human = new RawPeer(near);
	await human.ask({id: 1, method: 'initialize', params: {clientName: 'human'}});
	human.send({method: 'initialized'});
	human.send({id: 2, method: 'process/attach', params: {process: 'build', afterSeq: 0}});
	human.send({id: 3, method: 'process/attach', params: {process: 'build', afterSeq: 0}});
	await eventually(() => human.texts.filter(text => text.includes('"process/output"')).length >= 2);
	const order = human.texts.flatMap(text => {
		const {id, method} = JSON.parse(text) as {id?: number; method?: string};
		return id === 1 || method === 'process/attached' || method === 'process/detached' ? [] : [id ?? method];
	});
	expect(order).toEqual([2, 3, 'process/output', 'process/output']);
});

test('only the driver writes, resizes, signals and closes the input, and a takeover demotes without disconnecting', async () => {
	const server = execServer();
	const agent = await enter(server, 'agent');
	const human = await enter(server, 'human');
	await agent.sh('sh', 'while read line; do echo "got $line"; done', TERMINAL);
	await attach(human, 'sh');
	for (const [method, params] of [
		['process/write', {chunk: 'YQ==', writeId: '1'}],
		['process/resize', {rows: 10, cols: 20}],
		['process/signal', {signal: 'interrupt'}],
		['process/closeStdin', {}],
	] as const) {
		const answer = await refused(human, method, {processId: 'sh', ...params});
		expect(answer).toMatchObject({message: expect.stringContaining('agent drives it') as string});
	}
	expect(await refused(human, 'process/attach', {process: 'sh', role: 'drive'})).toMatchObject({
		data: {code: 'NOT_DRIVER', context: {driver: 'agent'}},
	});
	const taken = await attach(human, 'sh', {role: 'drive', takeover: true, size: {rows: 40, cols: 100}});
	expect(taken).toMatchObject({driver: 'human', rows: 40, cols: 100});
	expect(await agent.event('sh', 'process/driverChanged')).toMatchObject({
		driver: 'human',
		previous: 'agent',
		reason: 'takeover',
	});
	expect(await agent.event('sh', 'process/resized')).toMatchObject({rows: 40, cols: 100});
	const answer = await refused(agent, 'process/write', {processId: 'sh', chunk: 'YQ==', writeId: '1'});
	expect(answer).toMatchObject({data: {code: 'NOT_DRIVER', context: {driver: 'human'}}});
	await human.write('sh', 'secret\n', 'h1');
	await agent.shows('sh', 'got secret');
	// Gives the seat back and keeps watching; the agent has to ask for it.
	await attach(human, 'sh', {role: 'observe'});
	expect(await refused(agent, 'process/write', {processId: 'sh', chunk: 'YQ==', writeId: '2'})).toMatchObject({
		data: {code: 'NOT_DRIVER', context: {driver: null}},
	});
	await attach(agent, 'sh', {role: 'drive'});
	await agent.write('sh', 'more\n', 'a1');
	await human.shows('sh', 'got more');
});

test('the seat of a driver whose connection is lost is free, and it has it back if nobody took it', async () => {
	const server = execServer();
	const agent = await enter(server, 'agent');
	const human = await enter(server, 'human');
	await agent.sh('sh', 'while read line; do echo "got $line"; done', OPEN_STDIN);
	await attach(human, 'sh');
	agent.rpc.destroy();
	expect(await human.event('sh', 'process/driverChanged')).toMatchObject({driver: null, reason: 'disconnected'});
	const again = await TestClient.overMemory(server).initialize(agent.sessionId, 'agent');
	await human.until(() => human.about('sh').find(({params}) => params['driver'] === 'agent'));
	await again.write('sh', 'back\n', '1');
	await human.shows('sh', 'got back');
	again.rpc.destroy();
	await human.until(() => human.about('sh').filter(({params}) => params['reason'] === 'disconnected').length === 2);
	await attach(human, 'sh', {role: 'drive'});
	const late = await TestClient.overMemory(server).initialize(agent.sessionId, 'agent');
	await late.call('environment/status');
	expect(await refused(late, 'process/write', {processId: 'sh', chunk: 'YQ==', writeId: '9'})).toMatchObject({
		data: {context: {driver: 'human'}},
	});
});

test('a session that has detached from its own process does not drive it until it attaches again', async () => {
	const server = execServer();
	const agent = await enter(server, 'agent');
	const human = await enter(server, 'human');
	await agent.sh('sh', 'while read line; do echo "got $line"; done', OPEN_STDIN);
	await agent.call('process/detach', {processId: 'sh'});
	await attach(human, 'sh', {role: 'drive'});
	const write = {processId: 'sh', chunk: 'YQo=', writeId: '1'};
	expect(await refused(agent, 'process/write', write)).toMatchObject({data: {context: {driver: 'human'}}});
	await attach(agent, 'sh', {role: 'drive', takeover: true});
	await agent.write('sh', 'back\n', '2');
	await agent.shows('sh', 'got back');
});

test('an observer that does not read holds neither the process nor the others back', async () => {
	const server = execServer();
	const agent = await enter(server, 'agent');
	const stalled = await enter(server, 'stalled');
	await agent.sh('flood', 'read line; head -c 8000000 /dev/zero; echo; echo over', OPEN_STDIN);
	await attach(stalled, 'flood', {afterSeq: 0});
	const resume = stalled.rpc.holdReading();
	await agent.write('flood', 'go\n');
	const {stdout} = await agent.done('flood');
	expect(stdout.length).toBe(8_000_006);
	resume();
	await stalled.event('flood', 'process/closed');
	const gaps = stalled.about('flood').filter(({method}) => method === 'process/gap');
	const missed = gaps.reduce((sum, {params}) => sum + (params['missedBytes'] as number), 0);
	expect(stalled.output('flood').length + missed).toBe(8_000_006);
	expect(missed).toBeGreaterThan(0);
});

test('a process that is to be kept outlives its session and is found by name over another connection', async () => {
	const server = execServer({detachedSessionMs: 0});
	const agent = await enter(server, 'agent');
	await agent.sh('server-1', 'echo $$; while read line; do echo "got $line"; done', {
		...OPEN_STDIN,
		name: 'web',
		onDisconnect: 'keep',
		labels: {team: 'a'},
	});
	await agent.shows('server-1', '\n');
	const pid = Number(agent.output('server-1').toString());
	await agent.write('server-1', 'early\n', '1');
	await agent.shows('server-1', 'got early');
	agent.rpc.close();
	const human = await enter(server, 'human');
	await eventually(() => server.health()['sessions'] === 1);
	expect(isAlive(pid)).toBe(true);
	const list = async (params: object): Promise<unknown[]> =>
		(await human.call<{processes: unknown[]}>('process/list', {all: true, ...params})).processes;
	expect(await list({labels: {team: 'a'}})).toMatchObject([{processId: 'server-1', name: 'web', driver: null, pid}]);
	expect(await list({labels: {team: 'b'}})).toEqual([]);
	await attach(human, 'web', {role: 'drive', afterSeq: 0});
	await human.shows('server-1', 'got early');
	await human.write('server-1', 'late\n', '1-other-client');
	await human.shows('server-1', 'got late');
	expect(await human.call('process/terminate', {processId: 'server-1'})).toEqual({running: true});
	await untilDead(pid);
});

test('a name is taken until its process has ended, and an id until its process is forgotten', async () => {
	const server = execServer();
	const agent = await enter(server, 'agent');
	await agent.sh('one', 'read line', {...OPEN_STDIN, name: 'job'});
	expect(await refused(agent, 'process/start', startOf('two', {name: 'job'}))).toMatchObject({
		message: 'the name job is that of process one, which has not ended',
	});
	await agent.call('process/closeStdin', {processId: 'one'});
	await agent.done('one');
	await agent.sh('two', 'exit 0', {name: 'job'});
	await agent.sh('kept', 'sleep 1000', {onDisconnect: 'keep'});
	const other = await enter(server, 'other');
	expect(await refused(other, 'process/start', startOf('kept', {onDisconnect: 'keep'}))).toMatchObject({
		message: 'process kept already exists',
	});
	for (const name of ['', '-x', 'a b', 'a/b', '\u001b[31m', 'x'.repeat(65)]) {
		expect(await refused(agent, 'process/start', startOf('bad', {name}))).toMatchObject({data: {code: 'NAME_INVALID'}});
	}
});

function startOf(processId: string, extra: object): object {
	return {processId, argv: ['/bin/true'], cwd: 'file:///tmp', env: {}, tty: false, ...extra};
}

test('two sessions with a process of one id can attach to each other under other ids', async () => {
	const server = execServer();
	const [one, two] = [await enter(server, 'one'), await enter(server, 'two')];
	await one.sh('p', 'echo from-one; read line', {...OPEN_STDIN, name: 'first'});
	await two.sh('p', 'echo from-two; read line', OPEN_STDIN);
	const {processId} = await attach(two, 'first', {afterSeq: 0});
	expect(processId).toBe('p~2');
	await two.shows('p~2', 'from-one');
	await two.shows('p', 'from-two');
	const third = await enter(server, 'third');
	expect(await refused(third, 'process/attach', {process: 'p'})).toMatchObject({data: {code: 'PROCESS_AMBIGUOUS'}});
});

test('processes of another token are unknown unless they are shared, and a role needs its scope', async () => {
	const server = execServer();
	const alice = await enter(server, 'x', {name: 'alice'});
	const bob = await enter(server, 'x', {name: 'bob'});
	const watcher = await enter(server, 'x', {name: 'alice', scopes: ['observe']});
	await alice.sh('private', 'read line', OPEN_STDIN);
	await alice.sh('shown', 'read line', {...OPEN_STDIN, share: {observe: 'any'}});
	await alice.sh('open', 'read line; echo got $line', {...OPEN_STDIN, share: {drive: 'any'}});
	expect(await refused(bob, 'process/attach', {process: 'private'})).toMatchObject({
		message: 'unknown process id private',
	});
	expect(await attach(bob, 'shown')).toMatchObject({driver: 'alice'});
	const driving = {process: 'shown', role: 'drive', takeover: true};
	expect(await refused(bob, 'process/attach', driving)).toMatchObject({data: {code: 'NOT_DRIVER'}});
	expect(await refused(bob, 'process/terminate', {processId: 'shown'})).toMatchObject({data: {code: 'NOT_OWNER'}});
	await attach(bob, 'open', {role: 'drive', takeover: true});
	await bob.write('open', 'hi\n', '1');
	await alice.done('open');
	expect(await attach(watcher, 'private')).toMatchObject({role: 'observe'});
	expect(await refused(watcher, 'process/attach', {process: 'private', role: 'drive', takeover: true})).toMatchObject({
		data: {code: 'NOT_DRIVER'},
	});
	const {processes} = await bob.call<{processes: {processId: string}[]}>('process/list', {all: true});
	expect(processes.map(({processId}) => processId)).toEqual(['shown']);
});

test('a share token is good for one process and one role, until it expires or the process is forgotten', async () => {
	const server = execServer();
	const alice = await enter(server, 'x', {name: 'alice'});
	await alice.sh('build', 'while read line; do echo "got $line"; done', {...OPEN_STDIN});
	await alice.sh('other', 'read line', OPEN_STDIN);
	const share = async (extra: object): Promise<Grant> => {
		const {token} = await alice.call<{token: string}>('process/share', {processId: 'build', ...extra});
		expect(token).toMatch(/^las_/);
		return server.findShare(token)!;
	};
	const observer = await enter(server, 'x', await share({}));
	expect(await attach(observer, 'build')).toMatchObject({processId: 'build', driver: 'alice'});
	for (const [method, params] of [
		['process/attach', {process: 'build', role: 'drive', takeover: true}],
		['process/attach', {process: 'other'}],
		['process/start', startOf('mine', {})],
		['process/terminate', {processId: 'build'}],
		['process/share', {processId: 'build'}],
		['process/write', {processId: 'build', chunk: 'YQ==', writeId: '1'}],
		['fs/readFile', {path: 'file:///etc/hostname'}],
	] as const) {
		const answer = await refused(observer, method, params);
		expect([method, answer]).toEqual([method, expect.objectContaining({code: expect.any(Number) as number})]);
	}
	const driver = await enter(server, 'x', await share({role: 'drive'}));
	await attach(driver, 'build', {role: 'drive', takeover: true});
	await driver.write('build', 'hello\n', '1');
	await observer.shows('build', 'got hello');
	expect(await refused(driver, 'process/attach', {process: 'other', role: 'drive'})).toMatchObject({
		message: 'unknown process id other',
	});
	const {token} = await alice.call<{token: string}>('process/share', {processId: 'build', forMs: 0});
	expect(server.findShare(token)).toBeUndefined();
	const free = await enter(execServer(), 'x');
	await free.sh('p', 'read line', OPEN_STDIN);
	expect(await refused(free, 'process/share', {processId: 'p'})).toMatchObject({data: {code: 'SHARE_REFUSED'}});
});

test('the connection of a guest ends when its token expires, and everybody else goes on', async () => {
	const server = execServer();
	const alice = await enter(server, 'x', {name: 'alice'});
	await alice.sh('build', 'while read line; do echo "got $line"; done', OPEN_STDIN);
	stopClock();
	const {token} = await alice.call<{token: string}>('process/share', {processId: 'build', forMs: 500});
	const guest = await enter(server, 'x', server.findShare(token));
	await attach(guest, 'build');
	vi.advanceTimersByTime(500);
	await guest.untilClosed();
	expect(server.findShare(token)).toBeUndefined();
	await alice.write('build', 'on\n', '1');
	await alice.shows('build', 'got on');
});

test('a guest of one process cannot resume the session of a guest of another', async () => {
	const server = execServer();
	const alice = await enter(server, 'x', {name: 'alice'});
	for (const id of ['one', 'two']) await alice.sh(id, 'read line', OPEN_STDIN);
	const guestOf = async (processId: string): Promise<Grant> => {
		const {token} = await alice.call<{token: string}>('process/share', {processId});
		return server.findShare(token)!;
	};
	const guest = await enter(server, 'x', await guestOf('one'));
	const {sessionId} = guest;
	guest.rpc.destroy();
	const stranger = TestClient.overMemory(server, await guestOf('two'));
	const resume = {clientName: 'x', resumeSessionId: sessionId};
	expect(await refused(stranger, 'initialize', resume)).toMatchObject({message: `unknown session id ${sessionId}`});
	expect(await TestClient.overMemory(server, await guestOf('one')).initialize(sessionId)).toMatchObject({sessionId});
});
