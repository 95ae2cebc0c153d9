// covers: src/hub/access, src/hub/hub-metrics.ts
import {expect, test} from 'vitest';
import {MAX_COUNTED_CALLERS, RateLimit} from '../../src/hub/access/rate-limit.js';
import {createLineLogger} from '../../src/shared/node/line-logger.js';
import {environmentVia, runningExecutor, runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {parseExposition} from '../helpers/prometheus.js';
import {clientRegistry, scriptedExecutor, scriptedHarness, statusOfUpgrade} from '../helpers/relay-peers.js';

test('a limit allows a burst, then as many as time gives back, for each caller by itself', () => {
	let now = 0;
	const limit = new RateLimit({burst: 3, perSecond: 2}, () => now);
	const take = (count: number, caller = 'one'): number =>
		Array.from({length: count}, () => limit.take(caller)).filter(Boolean).length;
	expect(take(5)).toBe(3);
	expect(take(5, 'other')).toBe(3);
	now += 1000;
	expect(take(5)).toBe(2);
	now += 3_600_000;
	expect(take(5)).toBe(3);
});

test('a limit forgets the caller that was silent longest when there are too many', () => {
	const limit = new RateLimit({burst: 1, perSecond: 0.001}, () => 0);
	expect([limit.take('first'), limit.take('first')]).toEqual([true, false]);
	for (let caller = 1; caller < MAX_COUNTED_CALLERS; caller++) limit.take(String(caller));
	expect(limit.take('first')).toBe(false);
	for (let caller = 1; caller < MAX_COUNTED_CALLERS; caller++) limit.take(`more ${caller}`);
	expect(limit.take('first')).toBe(false);
	for (let caller = 0; caller < MAX_COUNTED_CALLERS; caller++) limit.take(`even more ${caller}`);
	expect(limit.take('first')).toBe(true);
});

test('wrong tokens of an address are refused without a word from some number on, and good ones never for them', async () => {
	const lines: string[] = [];
	const logger = createLineLogger({level: 'info', format: 'json', write: line => lines.push(line)});
	const hub = await runningHub({logger, rates: {wrongToken: {burst: 3, perSecond: 0.001}}});
	await scriptedExecutor(hub, 'devbox');
	const ask = async (token: string): Promise<number> =>
		(await fetch(`${hub.url}/environments`, {headers: {authorization: `Bearer ${token}`}})).status;
	const statuses: number[] = [];
	for (let attempt = 0; attempt < 5; attempt++) statuses.push(await ask('wrong'));
	expect(statuses).toEqual([401, 401, 401, 429, 429]);
	expect(await ask(hub.clientToken)).toBe(200);
	expect(lines.filter(line => line.includes('"refused"')).length).toBe(3);
});

test('a revoked token loses the sockets it opened, its tickets, and the list it follows', async () => {
	const hub = await runningHub();
	const {token, record} = await hub.hub.tokens.create('client', '*');
	const executorToken = await hub.hub.tokens.create('executor', '*');
	const executor = await scriptedExecutor({...hub, executorToken: executorToken.token}, 'devbox');
	const harness = await scriptedHarness({...hub, clientToken: token}, 'devbox');
	const other = await scriptedHarness(hub, 'devbox');
	const {url} = await clientRegistry({...hub, clientToken: token}, 'devbox').connect(harness.key);
	const watching = await fetch(`${hub.url}/environments?watch=1`, {headers: {authorization: `Bearer ${token}`}});
	expect(await hub.hub.tokens.revoke(record.id)).toBe(true);
	// A node that has closed the sockets of a token knows that it is revoked; others hear of it a moment later.
	expect(await harness.closed).toBe(1008);
	expect(await statusOfUpgrade(url)).toBe(401);
	await expect(watching.text()).rejects.toThrow('terminated');
	expect(other.socket.readyState).toBe(other.socket.OPEN);
	await hub.hub.tokens.revoke(executorToken.record.id);
	await executor.closed;
	expect(await statusOfUpgrade(executor.registration.url)).toBe(401);
});

test('metrics count executors, clients, streams, bytes and refusals, for a token that may use everything', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'devbox');
	const box = environmentVia(hub, 'devbox');
	await box.shell('true');
	const read = async (token: string): Promise<Response> =>
		fetch(`${hub.executorUrl ?? hub.url}/metrics`, {headers: {authorization: `Bearer ${token}`}});
	expect((await read('wrong')).status).toBe(401);
	expect((await read((await hub.hub.tokens.create('client', 'dev*')).token)).status).toBe(403);
	const {samples} = parseExposition(await (await read(hub.clientToken)).text());
	const value = (name: string): number | undefined => samples.find(sample => sample.name === name)?.value;
	expect(value('longarm_hub_executors_online')).toBe(1);
	expect(value('longarm_hub_clients_connected')).toBe(1);
	expect(value('longarm_hub_streams_active')).toBe(1);
	expect(value('longarm_hub_forwarded_bytes_total')).toBeGreaterThan(7000);
	expect(samples).toContainEqual({name: 'longarm_hub_refusals_total', labels: {reason: 'unauthorized'}, value: 1});
	expect(samples).toContainEqual({name: 'longarm_hub_sockets_total', labels: {role: 'environment'}, value: 1});
});

test('a hub that ends tells clients to come back, and its sockets that it goes away', async () => {
	const hub = await runningHub();
	const executor = await scriptedExecutor(hub, 'devbox');
	const harness = await scriptedHarness(hub, 'devbox');
	// An end that does not answer to the close keeps the hub for a moment.
	executor.socket.pause();
	const ended = hub.hub.close();
	expect(await harness.closed).toBe(1001);
	await ended;
	await eventually(() => hub.hub.relay.findExecutor('devbox') === undefined);
});
