// covers: src/client/session/recovery.ts, src/client/process/remote-process.ts
import {expect, onTestFinished, test, vi} from 'vitest';
import type {RemoteProcess} from '../../src/client/process/remote-process.js';
import {MAX_WAITING_EVENTS} from '../../src/client/process/reorder-buffer.js';
import {RECOVERY_BUDGET_MS} from '../../src/client/session/recovery.js';
import {SessionClient, type SessionClientOptions} from '../../src/client/session/session-client.js';
import {MAX_TIMER_MS} from '../../src/shared/units.js';
import {memoryTransportPair} from '../../src/transports/memory.js';
import {stopClock} from '../helpers/clock.js';
import {chunk} from '../helpers/process-events.js';
import {eventually} from '../helpers/processes.js';
import {RawPeer} from '../helpers/raw-peer.js';
import {sh} from '../helpers/start-params.js';
import type {Asked} from './fake-server.js';

/** A client whose every connection ends at a server of which each word is the test's own. */
interface Scripted {
	readonly client: SessionClient;
	readonly process: RemoteProcess;
	/** The server's ends, in the order of connecting. */
	readonly peers: readonly RawPeer[];
	/** The next connection with its session resumed. */
	readonly resumed: (index: number) => Promise<RawPeer>;
}

async function scripted(options: Pick<SessionClientOptions, 'recoveryBudgetMs'> = {}): Promise<Scripted> {
	const peers: RawPeer[] = [];
	const connect = async () => {
		const [near, far] = memoryTransportPair();
		peers.push(new RawPeer(far));
		return near;
	};
	const greet = async (peer: RawPeer): Promise<void> => {
		const environmentInfo = {shell: {name: 'sh', path: '/bin/sh'}, capabilities: {}};
		await answer(peer, 'initialize', {sessionId: 'session', environmentInfo});
		await peer.next();
	};
	const opening = SessionClient.open(connect, options);
	await eventually(() => peers.length === 1);
	await greet(peers[0]!);
	const client = await opening;
	onTestFinished(() => client.close());
	const starting = client.start(sh('p', 'true'));
	await answer(peers[0]!, 'process/start', {processId: 'p'});
	const {process} = await starting;
	const resumed = async (index: number): Promise<RawPeer> => {
		const peer = await eventually(() => peers[index]);
		await greet(peer);
		return peer;
	};
	return {client, process: process as RemoteProcess, peers, resumed};
}

/** Answers the next request, which has to be of this method. */
async function answer(peer: RawPeer, method: string, result: unknown): Promise<void> {
	peer.send({id: await asked(peer, method), result});
}

async function refuse(peer: RawPeer, method: string, message: string): Promise<void> {
	peer.send({id: await asked(peer, method), error: {code: -32600, message}});
}

async function asked(peer: RawPeer, method: string): Promise<number> {
	const request = await peer.next<Asked>();
	expect(request.method).toBe(method);
	return request.id;
}

test('a process that cannot be read after a break fails with the reason and is ended there, and the session goes on', async () => {
	const {client, process, peers, resumed} = await scripted();
	peers[0]!.transport.destroy();
	const peer = await resumed(1);
	await refuse(peer, 'process/read', 'no such luck');
	const {params} = await peer.next<Asked>();
	expect(params).toEqual({processId: 'p', mode: 'force'});
	peer.send({id: Number(peer.received.at(-1)!['id']), result: {running: true}});
	await expect(process.closed).rejects.toThrow('failed to recover process p: exec-server rejected request');
	await client.recovered();
	expect([client.state, peers.length]).toEqual(['connected', 2]);
});

test('a server that does not know the process any more need not end it', async () => {
	const {client, process, peers, resumed} = await scripted();
	peers[0]!.transport.destroy();
	const peer = await resumed(1);
	await refuse(peer, 'process/read', 'unknown process');
	await refuse(peer, 'process/terminate', 'unknown process');
	await expect(process.closed).rejects.toThrow('unknown process');
	await client.recovered();
	expect([client.state, peers.length]).toEqual(['connected', 2]);
});

test('a server that breaks the protocol while it is caught up with is hung up on, and tried again', async () => {
	const {client, peers, resumed} = await scripted();
	peers[0]!.transport.destroy();
	const second = await resumed(1);
	await refuse(second, 'process/read', 'unknown process');
	await answer(second, 'process/terminate', 'nonsense');
	await second.untilClosed();
	// Whether it was ended is not known, so it is ended again.
	const third = await resumed(2);
	await refuse(third, 'process/read', 'unknown process');
	await answer(third, 'process/terminate', {running: false});
	await client.recovered();
	expect([client.state, peers.length]).toEqual(['connected', 3]);
});

test('a server that does not answer while it is caught up with is hung up on when the time is over', async () => {
	stopClock();
	const {client, process, peers, resumed} = await scripted();
	peers[0]!.transport.destroy();
	const second = await resumed(1);
	await asked(second, 'process/read');
	await vi.advanceTimersByTimeAsync(RECOVERY_BUDGET_MS);
	await second.untilClosed();
	await vi.advanceTimersByTimeAsync(RECOVERY_BUDGET_MS);
	expect((await client.ended).message).toContain('recovery timed out after 45s');
	await expect(process.closed).rejects.toThrow('recovery timed out');
});

test('with a longer time limit a server that does not answer is hung up on, and the session is resumed minutes later', async () => {
	stopClock();
	const {client, peers, resumed} = await scripted({recoveryBudgetMs: MAX_TIMER_MS});
	peers[0]!.transport.destroy();
	const second = await resumed(1);
	await asked(second, 'process/read');
	await vi.advanceTimersByTimeAsync(RECOVERY_BUDGET_MS);
	await second.untilClosed();
	for (let outages = 2; outages < 50; outages++) {
		await vi.advanceTimersByTimeAsync(5000);
		await eventually(() => peers.length > outages);
		peers[outages]!.transport.destroy();
		await peers[outages]!.untilClosed();
	}
	expect(client.state).toBe('recovering');
	await vi.advanceTimersByTimeAsync(5000);
	const last = await resumed(50);
	await answer(last, 'process/read', {
		chunks: [],
		nextSeq: 1,
		exited: false,
		exitCode: null,
		closed: false,
		failure: null,
	});
	await client.recovered();
	expect(client.state).toBe('connected');
});

test('a link that breaks again while it is caught up with is made once more', async () => {
	const {client, process, peers, resumed} = await scripted();
	peers[0]!.transport.destroy();
	const second = await resumed(1);
	await asked(second, 'process/read');
	second.transport.destroy();
	const third = await resumed(2);
	await answer(third, 'process/read', {
		chunks: [],
		nextSeq: 1,
		exited: false,
		exitCode: null,
		closed: false,
		failure: null,
	});
	await client.recovered();
	third.send({method: 'process/exited', params: {processId: 'p', seq: 1, exitCode: 4}});
	expect(await process.exited).toMatchObject({exitCode: 4});
	expect(peers).toHaveLength(3);
});

const RUNNING = {exited: false, exitCode: null, closed: false, failure: null};
const page = (nextSeq: number, ...seqs: number[]) => ({
	chunks: seqs.map(seq => ({...chunk(seq, ''), chunk: Buffer.from(`${seq},`).toString('base64')})),
	nextSeq,
	...RUNNING,
});

async function textUpTo(process: RemoteProcess, seq: number): Promise<string> {
	let text = '';
	for await (const event of process.events()) {
		if (event.kind === 'output') text += Buffer.from(event.bytes).toString();
		if (!('seq' in event) || event.seq === seq) break;
	}
	return text;
}

test('pages of missed output are taken as they come: the next connection goes on behind them', async () => {
	const {client, process, peers, resumed} = await scripted();
	peers[0]!.transport.destroy();
	const second = await resumed(1);
	await answer(second, 'process/read', page(3, 1, 2));
	await asked(second, 'process/read');
	second.transport.destroy();
	const third = await resumed(2);
	await answer(third, 'process/read', page(5, 3, 4));
	await answer(third, 'process/read', page(5));
	await client.recovered();
	const reads = [...second.received, ...third.received].filter(({method}) => method === 'process/read');
	expect(reads.map(({params}) => (params as {afterSeq: number}).afterSeq)).toEqual([0, 2, 2, 4]);
	expect(reads.every(({params}) => (params as {maxBytes?: number}).maxBytes! > 0)).toBe(true);
	expect(await textUpTo(process, 4)).toBe('1,2,3,4,');
});

test('live output that finds no room behind missed output is read again, in its place', async () => {
	const {client, process, peers, resumed} = await scripted();
	peers[0]!.transport.destroy();
	const second = await resumed(1);
	const id = await asked(second, 'process/read');
	const last = MAX_WAITING_EVENTS + 10;
	for (let seq = 2; seq <= last; seq++) {
		const chunk64 = Buffer.from(`${seq},`).toString('base64');
		second.send({method: 'process/output', params: {processId: 'p', seq, stream: 'stdout', chunk: chunk64}});
	}
	second.send({id, result: page(2, 1)});
	await answer(second, 'process/read', page(last + 1, ...numbers(process.published + 1, last)));
	await answer(second, 'process/read', page(last + 1));
	await client.recovered();
	second.send({method: 'process/exited', params: {processId: 'p', seq: last + 1, exitCode: 0}});
	expect(await process.exited).toMatchObject({exitCode: 0});
});

test('an exit between missed output is found by reading the rest at once', async () => {
	const {client, process, peers, resumed} = await scripted();
	peers[0]!.transport.destroy();
	const second = await resumed(1);
	const exited = {exited: true, exitCode: 7};
	await answer(second, 'process/read', {...page(4, 1, 3), ...exited});
	await answer(second, 'process/read', {...page(5, 1, 3, 4), ...exited});
	await client.recovered();
	expect(await process.exited).toMatchObject({exitCode: 7});
	expect(await textUpTo(process, 4)).toBe('1,3,4,');
});

function numbers(from: number, to: number): number[] {
	return Array.from({length: to - from + 1}, (_, index) => from + index);
}

test.each([
	['another instance', 'two', 'failed to resume exec-server session: the server was restarted: its sessions are gone'],
	['the same instance', 'one', 'exec-server rejected request (-32600): unknown session id session'],
])('a session that %s of the server does not know is lost with the reason', async (_, instanceId, reason) => {
	const peers: RawPeer[] = [];
	const opening = SessionClient.open(async () => {
		const [near, far] = memoryTransportPair();
		peers.push(new RawPeer(far));
		return near;
	});
	await eventually(() => peers.length === 1);
	const environmentInfo = {shell: {name: 'sh', path: '/bin/sh'}, instanceId: 'one'};
	await answer(peers[0]!, 'initialize', {sessionId: 'session', environmentInfo});
	const client = await opening;
	peers[0]!.transport.destroy();
	await eventually(() => peers.length === 2);
	const {id} = await peers[1]!.next<Asked>();
	const data = {code: 'SESSION_UNKNOWN', context: {instanceId}};
	peers[1]!.send({id, error: {code: -32600, message: 'unknown session id session', data}});
	expect((await client.ended).message).toContain(reason);
});
