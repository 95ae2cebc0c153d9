// covers: src/server/connection/sessions.ts, src/processes/process-table.ts (keepDetachedMs)
import {expect, onTestFinished, test, vi} from 'vitest';
import {disconnect} from '../helpers/disconnect.js';
import {joined, OPEN_STDIN, refusal, served, toldPids} from '../helpers/process-api.js';
import {eventually, isAlive, untilDead} from '../helpers/processes.js';
import type {TestClient} from '../helpers/test-client.js';

const HOUR_MS = 3_600_000;
const WAITING = 'echo $$; exec sleep 1000';

/** The clock of the server is set by hand; the processes are real and live by their own. */
function fakeClock(): void {
	vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout', 'performance']});
	onTestFinished(() => void vi.useRealTimers());
}

async function start(client: TestClient, processId: string, onDisconnect?: unknown): Promise<number> {
	await client.sh(processId, WAITING, {onDisconnect});
	return (await toldPids(client, processId, 1))[0]!;
}

async function readAll(client: TestClient, processId: string): Promise<string> {
	const {chunks} = await client.call<{chunks: {chunk: string}[]}>('process/read', {processId});
	return Buffer.concat(chunks.map(({chunk}) => Buffer.from(chunk, 'base64'))).toString();
}

test('a process that ends at once does so when the connection goes; the session and the others stay', async () => {
	const {server, url, client} = await served();
	const gone = await start(client, 'gone', 'endAtOnce');
	const kept = [
		await start(client, 'default'),
		await start(client, 'null', null),
		await start(client, 'session', 'endWithSession'),
		await start(client, 'hour', {keepForMs: HOUR_MS}),
	];
	expect([gone, ...kept].filter(isAlive)).toEqual([gone, ...kept]);
	await disconnect({server, client});
	await untilDead(gone);
	expect(kept.filter(isAlive)).toEqual(kept);
	const again = await joined(url, client.sessionId);
	expect(await again.call('process/wait', {processId: 'gone'})).toEqual({
		exitCode: 137,
		running: false,
		reason: 'terminated',
	});
	expect(await again.call('process/wait', {processId: 'default', timeoutMs: 0})).toMatchObject({running: true});
});

test('a process that says nothing about it ends with its session, and so does the session itself', async () => {
	const {server, url, client} = await served({detachedSessionMs: 1});
	const pids = [await start(client, 'default'), await start(client, 'session', 'endWithSession')];
	await disconnect({server, client});
	await untilDead(...pids);
	expect(await refusal(joined(url, client.sessionId))).toMatchObject({
		code: -32600,
		message: `unknown session id ${client.sessionId}`,
	});
});

test('a process that is to be kept keeps its session beyond its time, with all it says meanwhile', async () => {
	const {server, url, client} = await served({detachedSessionMs: 1});
	const mortal = await start(client, 'mortal');
	const keep = {onDisconnect: {keepForMs: HOUR_MS}};
	await client.sh('p', 'echo $$; trap "echo meanwhile" USR1; until read line; do :; done; echo "got $line"', {
		...OPEN_STDIN,
		...keep,
	});
	const [pid] = await toldPids(client, 'p', 1);
	await disconnect({server, client});
	await untilDead(mortal);
	const again = await joined(url, client.sessionId);
	await again.call('process/signal', {processId: 'p', signal: {name: 'USR1'}});
	await again.shows('p', 'meanwhile');
	await disconnect({server, client: again});
	const third = await joined(url, client.sessionId);
	expect(await readAll(third, 'p')).toBe(`${pid}\nmeanwhile\n`);
	await third.write('p', 'input\n', 'w');
	expect(await third.done('p')).toEqual({exitCode: 0, stdout: 'got input\n', stderr: '', pty: ''});
	expect(await readAll(third, 'p')).toBe(`${pid}\nmeanwhile\ngot input\n`);
});

test('one that ends meanwhile is found by who comes back, who then has as long to read it as anybody', async () => {
	fakeClock();
	const retainClosedMs = 30_000;
	const {server, url, client} = await served({retainClosedMs});
	const pid = await start(client, 'p', {keepForMs: HOUR_MS});
	await disconnect({server, client});
	process.kill(pid, 'SIGKILL');
	await eventually(() => server.health()['processes'] === 0);
	// Any moment is as good as any other to come back, the one in which it would have been forgotten included.
	vi.advanceTimersByTime(10 * retainClosedMs - 1);
	const again = await joined(url, client.sessionId);
	vi.advanceTimersByTime(retainClosedMs - 1);
	expect(await readAll(again, 'p')).toBe(`${pid}\n`);
	expect(await again.call('process/wait', {processId: 'p'})).toMatchObject({exitCode: 137, reason: 'signal'});
	vi.advanceTimersByTime(1);
	expect(await refusal(readAll(again, 'p'))).toEqual({code: -32600, message: 'unknown process id p'});
});

test('when the time of the last process is over so is the session', async () => {
	const {server, url, client} = await served({detachedSessionMs: 1});
	const pid = await start(client, 'p', {keepForMs: 40});
	await disconnect({server, client});
	await untilDead(pid);
	const refused = {code: -32600, message: `unknown session id ${client.sessionId}`};
	expect(await refusal(joined(url, client.sessionId))).toMatchObject(refused);
	expect(server.health()['sessions']).toBe(0);
});

test('a process that another client has attached to is not ended while that is there', async () => {
	const {server, url, client} = await served({detachedSessionMs: 1});
	const used = await start(client, 'used', {keepForMs: 40});
	const unused = await start(client, 'unused', {keepForMs: 80});
	const other = await joined(url);
	await other.call('process/attach', {process: 'used', role: 'observe', takeover: false});
	await disconnect({server, client});
	await untilDead(unused);
	expect(isAlive(used)).toBe(true);
	expect(await other.call('process/wait', {processId: 'used', timeoutMs: 0})).toMatchObject({running: true});
});

test('a time that is shorter than that of the session ends the process alone', async () => {
	const {server, url, client} = await served({detachedSessionMs: HOUR_MS});
	const [short, other] = [await start(client, 'short', {keepForMs: 1}), await start(client, 'other')];
	await disconnect({server, client});
	await untilDead(short);
	expect(isAlive(other)).toBe(true);
	const again = await joined(url, client.sessionId);
	expect(await readAll(again, 'short')).toBe(`${short}\n`);
});

test('who comes back in time stops every clock', async () => {
	fakeClock();
	const {server, url, client} = await served({detachedSessionMs: 2 * HOUR_MS});
	const pids = [await start(client, 'kept', {keepForMs: HOUR_MS}), await start(client, 'default')];
	await disconnect({server, client});
	vi.advanceTimersByTime(HOUR_MS - 1);
	const again = await joined(url, client.sessionId);
	vi.advanceTimersByTime(10 * HOUR_MS);
	for (const processId of ['kept', 'default']) {
		expect(await again.call('process/signal', {processId, signal: {name: 'KILL'}})).toEqual({});
		// The end it was just given, and no other.
		expect(await again.call('process/wait', {processId})).toMatchObject({exitCode: 137, reason: 'signal'});
	}
	await untilDead(...pids);
});

test.each(['never', {}, {keepForMs: -1}, {keepForMs: 'long'}])('the policy %j is refused', async onDisconnect => {
	const {client} = await served();
	expect(await refusal(client.sh('p', WAITING, {onDisconnect}))).toMatchObject({code: -32602});
	expect(await client.call('process/list')).toEqual({processes: []});
});

test('a process is kept for as long as stated at most; more is refused with that time', async () => {
	const {client} = await served();
	const longest = 30 * 24 * HOUR_MS;
	expect(await refusal(client.sh('p', WAITING, {onDisconnect: {keepForMs: longest + 1}}))).toEqual({
		code: -32602,
		message: `keepForMs must not exceed ${longest}`,
	});
	await start(client, 'p', {keepForMs: longest});
});
