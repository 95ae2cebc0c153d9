import {createHash} from 'node:crypto';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import type {ProcessHandle, StreamEvent} from '../../../src/client/process/process-handle.js';
import {type Connect, SessionClient, type SessionClientOptions} from '../../../src/client/session/session-client.js';
import {DisconnectedError} from '../../../src/rpc/disconnected-error.js';
import type {ServerOptions} from '../../../src/server/options.js';
import {connectWebSocket} from '../../../src/transports/node/connect-web-socket.js';
import type {Frame, Transport} from '../../../src/transports/transport.js';
import {eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {type Serving, serving} from '../../helpers/serving.js';
import {sh} from '../../helpers/start-params.js';

interface Recovering {
	readonly client: SessionClient;
	readonly served: Serving;
	/** The connections so far. */
	readonly transports: Transport[];
	/** What connecting does from now on, instead of connecting. */
	refuse: (() => Promise<Transport>) | undefined;
}

async function recovering(server: ServerOptions = {}, options: SessionClientOptions = {}): Promise<Recovering> {
	const served = await serving(server);
	const transports: Transport[] = [];
	const state: {refuse: Recovering['refuse']} = {refuse: undefined};
	const connect: Connect = async signal => {
		if (state.refuse) return state.refuse();
		const transport = await connectWebSocket(served.url, {...(signal && {signal})});
		transports.push(transport);
		return transport;
	};
	const client = await SessionClient.open(connect, options);
	onTestFinished(async () => {
		client.close();
		await client.ended;
	});
	return Object.assign(state, {client, served, transports});
}

async function all(remote: ProcessHandle): Promise<{text: string; others: StreamEvent[]}> {
	const chunks: Uint8Array[] = [];
	const others: StreamEvent[] = [];
	for await (const event of remote.events()) {
		if (event.kind === 'output') chunks.push(event.bytes);
		else others.push(event);
	}
	return {text: Buffer.concat(chunks).toString(), others};
}

const cut = ({transports}: Recovering): void => transports.at(-1)!.destroy();
const kinds = (events: readonly StreamEvent[]) => events.map(({kind}) => kind);

test('what a process says while links break arrives once, in order and complete', async () => {
	const link = await recovering();
	const script =
		'i=0; while [ $i -lt 600 ]; do echo line $i; i=$((i+1)); [ $((i % 10)) = 0 ] && sleep 0.01; done; exit 4';
	const {process: remote} = await link.client.start(sh('p', script));
	const said = all(remote);
	for (let count = 0; count < 8; count++) {
		const {lastSeq} = remote;
		if (!remote.isOver) await Promise.race([remote.waitForSeq(lastSeq + 20), remote.closed]);
		cut(link);
	}
	const {text, others} = await said;
	expect(text).toBe(Array.from({length: 600}, (_, index) => `line ${index}\n`).join(''));
	expect(kinds(others)).toEqual(['exited', 'closed']);
	expect(await remote.exited).toMatchObject({exitCode: 4});
	expect(link.transports.length).toBeGreaterThan(1);
});

test('what is written while links break arrives once and in order', async () => {
	const link = await recovering();
	const {process: remote} = await link.client.start(sh('p', 'sha256sum', {pipeStdin: true}));
	const hash = createHash('sha256');
	for (let count = 0; count < 40; count++) {
		const content = Buffer.alloc(20_000 + count, `write ${count} `);
		hash.update(content);
		const written = remote.write(content);
		if (count % 4 === 0) cut(link);
		expect(await written).toEqual({status: 'accepted'});
	}
	await remote.closeStdin();
	expect((await all(remote)).text).toBe(`${hash.digest('hex')}  -\n`);
});

test('a read that was under way is answered by the next connection', async () => {
	const link = await recovering();
	const {process: remote} = await link.client.start(sh('p', 'read x; echo $x', {pipeStdin: true}));
	const read = remote.read({waitMs: 60_000});
	await link.client.call('environment/status', null);
	cut(link);
	await remote.write('hello\n');
	const {chunks} = await read;
	expect(chunks.map(({chunk}) => Buffer.from(chunk).toString())).toEqual(['hello\n']);
});

test('a process that ended while nobody was connected has its exit, its end and its last words', async () => {
	const link = await recovering();
	const {process: remote} = await link.client.start(sh('p', 'read x; echo bye; exit 9', {pipeStdin: true}));
	let letIn: (() => void) | undefined;
	const closed = new Promise<void>(resolve => (letIn = resolve));
	link.refuse = async () => {
		await closed;
		link.refuse = undefined;
		throw new Error('try again');
	};
	await remote.write('go\n');
	cut(link);
	await eventually(() => link.served.server.health()['processes'] === 0);
	letIn!();
	const {text, others} = await all(remote);
	expect([text, kinds(others)]).toEqual(['bye\n', ['exited', 'closed']]);
});

test('output that is gone when the connection is back is announced, and the process lives', async () => {
	const link = await recovering({retainBytes: 10_000});
	const go = join(scratchDirectory(), 'go');
	const wait = `while [ ! -e ${go} ]; do sleep 0.01; done`;
	const script = `${wait}; head -c 300000 /dev/zero | tr "\\0" z; echo; echo end; read x; exit 5`;
	const {process: remote} = await link.client.start(sh('p', script, {pipeStdin: true}));
	let isHeldOff = true;
	link.refuse = async () => {
		if (!isHeldOff) link.refuse = undefined;
		throw new Error('not yet');
	};
	cut(link);
	writeFileSync(go, '');
	// The server has no connection and keeps no more than it may; that it has read all of it shows in its metrics.
	await eventually(() => /exec_server_output_bytes_total 300005\n/.test(link.served.server.metrics()));
	isHeldOff = false;
	const said = all(remote);
	await remote.write('on\n');
	const {text, others} = await said;
	// How much is kept depends on how the output was cut into chunks; it is the end of it in any case.
	expect(`${'z'.repeat(300_000)}\nend\n`.endsWith(text)).toBe(true);
	expect(kinds(others)).toEqual(['gap', 'exited', 'closed']);
	const [gap] = others;
	expect(gap).toMatchObject({kind: 'gap', afterSeq: 0, missedBytes: 300_005 - text.length});
});

test('signals, ends and starts that were under way fail: nobody knows whether they were done', async () => {
	const link = await recovering();
	const {process: remote} = await link.client.start(sh('p', 'sleep 1000'));
	const calls = [
		remote.signal('interrupt'),
		link.client.start(sh('q', 'sleep 1000')),
		link.client.call('environment/status', null),
	];
	cut(link);
	for (const call of calls) await expect(call).rejects.toThrow(DisconnectedError);
	// The start may have happened: then it is ended behind our back, and its id is free again.
	await eventually(() => link.transports.length > 1);
	await eventually(() => link.served.server.health()['processes'] === 1);
	expect(await link.client.call('environment/status', null)).toEqual({status: 'ready'});
});

test('a session the server does not know any more is lost for good, with the reason', async () => {
	const link = await recovering({detachedSessionMs: 0});
	const {process: remote} = await link.client.start(sh('p', 'sleep 1000'));
	cut(link);
	const message = `failed to resume exec-server session: exec-server rejected request (-32600): unknown session id ${link.client.sessionId}`;
	expect((await link.client.ended).message).toContain(message);
	await expect(remote.closed).rejects.toThrow(message);
	expect(await remote.read()).toMatchObject({closed: true, failure: expect.stringContaining(message) as string});
	await expect(link.client.start(sh('q', 'true'))).rejects.toThrow(message);
});

test('when the time is over before a connection is made, everything fails', async () => {
	const link = await recovering({}, {recoveryBudgetMs: 300});
	const {process: remote} = await link.client.start(sh('p', 'sleep 1000'));
	link.refuse = () => Promise.reject(new Error('nobody is there'));
	const pending = link.client.call('process/wait', {processId: 'p'});
	cut(link);
	await expect(pending).rejects.toThrow('exec-server transport disconnected');
	const waiting = link.client.call('environment/status', null);
	await expect(waiting).rejects.toThrow('failed to resume exec-server session: recovery timed out after 0.3s');
	await expect(remote.exited).rejects.toThrow('recovery timed out');
});

test('closing the client while it recovers ends it', async () => {
	const link = await recovering();
	link.refuse = () => Promise.reject(new Error('nobody is there'));
	cut(link);
	link.client.close();
	expect((await link.client.ended).message).toContain('exec-server transport disconnected');
});

test('a client that is closed while it recovers ends, even if the connection comes back', async () => {
	const link = await recovering();
	let goOn!: () => void;
	const gate = new Promise<void>(resolve => (goOn = resolve));
	link.refuse = async () => {
		link.refuse = undefined;
		await gate;
		return connectWebSocket(link.served.url);
	};
	cut(link);
	await eventually(() => link.client.state === 'recovering');
	link.client.close();
	goOn();
	expect((await link.client.ended).message).toContain('exec-server transport disconnected');
	expect(link.client.state).toBe('failed');
});

test('a link that breaks while a slow reader holds it back is made again, and every byte is read', async () => {
	const link = await recovering();
	const total = 30_000_000;
	const {process: remote} = await link.client.start(sh('p', `head -c ${total} /dev/zero`), {backpressure: true});
	const events = remote.events();
	let [read, missed] = [0, 0];
	const take = async (): Promise<boolean> => {
		const next = await events.next();
		if (next.done) return false;
		if (next.value.kind === 'output') read += next.value.bytes.length;
		else if (next.value.kind === 'gap') missed += next.value.missedBytes!;
		return true;
	};
	await take();
	// As much as the server keeps for a reader, in however many pieces it comes.
	const {log} = link.served.ends[0]!.session.processes.find('p')!;
	await eventually(() => log.totalBytes > 1024 * 1024);
	const paused = remote.lastSeq;
	cut(link);
	await eventually(() => link.transports.length === 2 && link.client.state === 'connected');
	expect(remote.lastSeq).toBeGreaterThanOrEqual(paused);
	while (await take());
	expect([read, missed]).toEqual([total, 0]);
	expect(await remote.exited).toMatchObject({exitCode: 0});
});

test('a process with a reader to wait for is held while the link is lost, and with another it runs on', async () => {
	const link = await recovering();
	const total = 3_000_000;
	const script = `read x; head -c ${total} /dev/zero`;
	const held = (await link.client.start(sh('held', script, {pipeStdin: true}), {backpressure: true})).process;
	const free = (await link.client.start(sh('free', script, {pipeStdin: true}))).process;
	const [session] = link.served.ends.map(each => each.session);
	const logs = ['held', 'free'].map(id => session!.processes.find(id)!.log);
	let letIn!: () => void;
	const gate = new Promise<void>(resolve => (letIn = resolve));
	link.refuse = async () => {
		await gate;
		link.refuse = undefined;
		throw new Error('try again');
	};
	await Promise.all([held.write('go\n'), free.write('go\n')]);
	cut(link);
	await eventually(() => logs[0]!.totalBytes > 1024 * 1024 && logs[1]!.closedSeq !== undefined);
	expect(logs[0]!.closedSeq).toBeUndefined();
	expect(logs[0]!.retainedBytes).toBe(logs[0]!.totalBytes);
	expect(logs[0]!.retainedBytes).toBeLessThan(2 * 1024 * 1024);
	letIn();
	const [one, other] = await Promise.all([all(held), all(free)]);
	expect([one.text.length, kinds(one.others)]).toEqual([total, ['exited', 'closed']]);
	expect(other.text.length).toBeLessThan(total);
	expect(kinds(other.others)).toContain('gap');
});

test('a process that is held ends with its session, and a reader that leaves lets it go on', async () => {
	const link = await recovering({detachedSessionMs: 300}, {recovers: false});
	const script = `head -c 3000000 /dev/zero; echo $$ > $0`;
	const start = async (id: string): Promise<ProcessHandle> =>
		(
			await link.client.start(
				{...sh(id, script), argv: ['/bin/sh', '-c', script, join(scratchDirectory(), id)]},
				{backpressure: true},
			)
		).process;
	const [left, kept] = [await start('left'), await start('kept')];
	const [session] = link.served.ends.map(each => each.session);
	const keptProcess = session!.processes.find('kept')!;
	await eventually(() => keptProcess.log.totalBytes > 1024 * 1024);
	await left.output().return!();
	await left.closed;
	expect(keptProcess.state.kind).toBe('running');
	expect(kept.isOver).toBe(false);
	cut(link);
	await eventually(() => !keptProcess.isAlive && link.served.server.health()['retainedBytes'] === 0);
});

const HOUR_MS = 3_600_000;

/** Sets the clock of this program, as an administrator would, until the end of the test. */
function setClock(jumpMs: number): void {
	vi.spyOn(Date, 'now').mockReturnValue(Date.now() + jumpMs);
	onTestFinished(() => void vi.restoreAllMocks());
}

/** A transport that is lost with the first request to read what was missed. */
function lostInCatchUp(transport: Transport): Transport {
	return new Proxy(transport, {
		get(target, name) {
			if (name === 'send') {
				return (frame: Frame) => (frame.toString().includes('process/read') ? target.destroy() : target.send(frame));
			}
			const value = Reflect.get(target, name, target) as unknown;
			return typeof value === 'function' ? (value.bind(target) as unknown) : value;
		},
	});
}

test('a connection that is lost again and again while it catches up has all the time anew each time', async () => {
	const budgetMs = 2000;
	const link = await recovering({}, {recoveryBudgetMs: budgetMs});
	const {process: remote} = await link.client.start(sh('p', 'read x; echo $x', {pipeStdin: true}));
	const connect = async (): Promise<Transport> => connectWebSocket(link.served.url);
	const over = performance.now() + budgetMs * 1.5;
	link.refuse = async () => {
		if (performance.now() >= over) link.refuse = undefined;
		return lostInCatchUp(await connect());
	};
	cut(link);
	await remote.write('hello\n');
	expect((await all(remote)).text).toBe('hello\n');
});

test('a server that resumes the session and leaves the rest unanswered is given up', async () => {
	const link = await recovering({}, {recoveryBudgetMs: 500});
	await link.client.start(sh('p', 'sleep 1000'));
	link.refuse = async () => {
		const transport = await connectWebSocket(link.served.url);
		const send = transport.send.bind(transport);
		transport.send = frame => {
			if (!frame.toString().includes('process/read')) send(frame);
		};
		return transport;
	};
	cut(link);
	expect((await link.client.ended).message).toContain('recovery timed out after 0.5s');
});

test('a clock that is set ahead while the link is lost does not end the recovery', async () => {
	const link = await recovering();
	const {process: remote} = await link.client.start(sh('p', 'read x; echo $x', {pipeStdin: true}));
	let attempts = 0;
	link.refuse = async () => {
		if (++attempts === 1) setClock(HOUR_MS);
		if (attempts === 3) link.refuse = undefined;
		throw new Error('nobody is there');
	};
	cut(link);
	await remote.write('hello\n');
	expect((await all(remote)).text).toBe('hello\n');
	expect(attempts).toBe(3);
});

test('a clock that is set back while the link is lost does not prolong the recovery', async () => {
	const link = await recovering({}, {recoveryBudgetMs: 300});
	link.refuse = async () => {
		setClock(-HOUR_MS);
		throw new Error('nobody is there');
	};
	cut(link);
	expect((await link.client.ended).message).toContain('recovery timed out after 0.3s');
});
