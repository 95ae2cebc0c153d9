// covers: src/hub
// The rules that executors and clients of upstream rely on, each by its sentence.
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {Grants} from '../../src/hub/registry/grants.js';
import {signTicket} from '../../src/hub/registry/tickets.js';
import {MAX_HARNESS_BACKLOG_BYTES, MAX_STREAMS_PER_EXECUTOR} from '../../src/hub/relay/relay.js';
import {HUB_PEER_TIMES} from '../../src/hub/relay/relay-upgrades.js';
import {MemoryGrants} from '../../src/hub/store/memory-grants.js';
import {MAX_RELAY_MESSAGE_BYTES} from '../../src/protocol/relay/relay-frame.js';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {createLineLogger} from '../../src/shared/node/line-logger.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {currentHubKind, environmentVia, runningExecutor, runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {
	clientRegistry,
	executorRegistry,
	scriptedExecutor,
	scriptedHarness,
	statusOfUpgrade,
} from '../helpers/relay-peers.js';
import {upstreamLikeExecutor} from '../helpers/upstream-like-executor.js';

const freshKey = (): ReturnType<typeof encodeRelayKey> =>
	encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));

test('rule 1: a ticket is refused with 4xx only if registering works right after, and with 503 in doubt', async () => {
	const hub = await runningHub();
	const first = await scriptedExecutor(hub, 'devbox');
	const second = await scriptedExecutor(hub, 'devbox');
	second.socket.terminate();
	await eventually(() => hub.hub.relay.findExecutor('devbox') === undefined);
	// Its registration no longer counts, and nobody is in its place.
	expect(await statusOfUpgrade(first.registration.url)).toBe(409);
	await executorRegistry(hub, 'devbox').register(encodeRelayKey(publicKeysOf(first.keys)));
	if (currentHubKind() !== 'embedded') return;
	// The hub cannot tell whether the token is good.
	rmSync(join(hub.data, 'tokens.jsonl'));
	mkdirSync(join(hub.data, 'tokens.jsonl'));
	expect(await statusOfUpgrade(second.registration.url)).toBe(503);
});

test('rule 2: registrations are durable and tickets need no memory, so executors come back without registering', async () => {
	const first = await runningHub();
	const executor = await upstreamLikeExecutor(first, 'devbox');
	const {registrationId} = executor.registration;
	const isOnline = ({hub}: typeof first): boolean =>
		hub.relay.findExecutor('devbox')?.registrationId === registrationId;
	expect((await environmentVia(first, 'devbox').shell('echo first')).stdout.text).toBe('first\n');
	// Its socket is cut, and it uses the same address.
	executor.cut();
	await eventually(() => !isOnline(first));
	await executor.open();
	await eventually(() => isOnline(first));
	expect((await environmentVia(first, 'devbox').shell('echo again')).stdout.text).toBe('again\n');
	const port = Number(new URL(first.executorUrl ?? first.url).port);
	await first.hub.close();
	const second = await runningHub({data: first.data, port});
	await executor.open();
	await eventually(() => isOnline(second));
	expect((await environmentVia(second, 'devbox').shell('echo second')).stdout.text).toBe('second\n');
});

test('rule 3: the same key keeps its registration, another wins, and the displaced key is refused', async () => {
	const hub = await runningHub();
	const first = await scriptedExecutor(hub, 'devbox');
	const again = await scriptedExecutor(hub, 'devbox', first.keys);
	expect(again.registration.registrationId).toBe(first.registration.registrationId);
	const keys = createNoiseKeys(nodeNoiseCrypto);
	const {registrationId} = await executorRegistry(hub, 'devbox').register(encodeRelayKey(publicKeysOf(keys)));
	expect(registrationId).not.toBe(first.registration.registrationId);
	// Before the new one is there.
	expect(await again.closed).toBe(1001);
	await scriptedExecutor(hub, 'devbox', keys);
	const register = executorRegistry(hub, 'devbox').register(encodeRelayKey(publicKeysOf(first.keys)));
	await expect(register).rejects.toMatchObject({status: 409, code: 'registration_conflict'});
});

test('rule 4: a client that is gone is a reset of each of its streams at the executor', async () => {
	const hub = await runningHub();
	const executor = await scriptedExecutor(hub, 'devbox');
	const [leaving, staying] = [await scriptedHarness(hub, 'devbox'), await scriptedHarness(hub, 'devbox')];
	const streams = [leaving.claim(), leaving.claim()];
	const other = staying.claim();
	await eventually(() => executor.frames.length === 3);
	leaving.socket.terminate();
	await eventually(() => streams.every(stream => executor.of(stream, 'reset').length === 1));
	expect(executor.of(other, 'reset')).toEqual([]);
});

test('rule 5: clients are disconnected when the socket of their executor is gone, or another one appears', async () => {
	const hub = await runningHub();
	const first = await scriptedExecutor(hub, 'devbox');
	const [claimed, silent] = [await scriptedHarness(hub, 'devbox'), await scriptedHarness(hub, 'devbox')];
	claimed.claim();
	await eventually(() => first.frames.length === 1);
	// The first socket is still open, as far as the hub knows.
	const second = await scriptedExecutor(hub, 'devbox', first.keys);
	expect(await Promise.all([claimed.closed, silent.closed])).toEqual([1001, 1001]);
	const later = await scriptedHarness(hub, 'devbox');
	second.socket.terminate();
	expect(await later.closed).toBe(1001);
});

test('rule 6: without an executor connecting is refused as offline, never as unknown', async () => {
	const hub = await runningHub();
	const refusal = {status: 409, code: 'environment_offline'};
	await expect(clientRegistry(hub, 'never-seen').connect(freshKey())).rejects.toMatchObject(refusal);
	const executor = await scriptedExecutor(hub, 'devbox');
	executor.socket.terminate();
	await eventually(() => hub.hub.relay.findExecutor('devbox') === undefined);
	await expect(clientRegistry(hub, 'devbox').connect(freshKey())).rejects.toMatchObject(refusal);
});

test('rule 7: a stream belongs to the socket that claimed it, looks like a UUID, and an executor has at most 128', async () => {
	const hub = await runningHub();
	const executor = await scriptedExecutor(hub, 'devbox');
	const odd = await scriptedHarness(hub, 'devbox');
	odd.claim('stream-1');
	expect(await odd.closed).toBe(1008);
	const owner = await scriptedHarness(hub, 'devbox');
	const [stream] = Array.from({length: MAX_STREAMS_PER_EXECUTOR}, () => owner.claim());
	await eventually(() => executor.frames.length === MAX_STREAMS_PER_EXECUTOR);
	expect(MAX_STREAMS_PER_EXECUTOR).toBe(128);
	const thief = await scriptedHarness(hub, 'devbox');
	thief.send(stream!, {kind: 'data', seq: 0, payload: Buffer.from('x')});
	expect(await thief.closed).toBe(1008);
	const late = await scriptedHarness(hub, 'devbox');
	late.claim();
	expect(await late.closed).toBe(1008);
	expect(executor.frames.length).toBe(MAX_STREAMS_PER_EXECUTOR);
});

test('rule 8: an authorization is good once, for its environment, registration and key, and for a minute', async () => {
	const hub = await runningHub();
	const [one, other] = [await scriptedExecutor(hub, 'one'), await scriptedExecutor(hub, 'other')];
	const key = freshKey();
	const ask = async (
		id: string,
		registrationId: string,
		given: ReturnType<typeof freshKey>,
	): Promise<readonly boolean[]> => {
		const {authorization} = await clientRegistry(hub, 'one').connect(key);
		const caller = {key: given, authorization, streamId: 'stream'};
		const first = await executorRegistry(hub, id).validate(registrationId, caller);
		return [first, await executorRegistry(hub, 'one').validate(one.registration.registrationId, {...caller, key})];
	};
	const {registrationId} = one.registration;
	expect(await ask('one', registrationId, key)).toEqual([true, false]);
	// Neither half of the key is enough.
	const {x25519_public_key: dh, mlkem768_public_key: kem} = freshKey();
	expect(await ask('one', registrationId, {...key, x25519_public_key: dh})).toEqual([false, false]);
	expect(await ask('one', registrationId, {...key, mlkem768_public_key: kem})).toEqual([false, false]);
	expect(await ask('one', other.registration.registrationId, key)).toEqual([false, false]);
	expect(await ask('other', registrationId, key)).toEqual([false, false]);

	const grants = new Grants(new MemoryGrants());
	const binding = {tenant: 'default', environmentId: 'one', registrationId, harnessKey: key};
	const [early, late] = [await grants.create(binding, 'token'), await grants.create(binding, 'token')];
	const now = performance.now();
	const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 59_000);
	onTestFinished(() => clock.mockRestore());
	expect(await grants.use(early, binding)).toBe(true);
	clock.mockReturnValue(now + 60_001);
	expect(await grants.use(late, binding)).toBe(false);
});

/** Frames of an executor that wait for the hub. */
const MAX_AHEAD_BYTES = 1024 * 1024;

test('rule 9: frames of a stream keep their order, and a client that does not read loses its streams, not single frames', async () => {
	const hub = await runningHub();
	const executor = await scriptedExecutor(hub, 'devbox');
	const [reading, stuck] = [await scriptedHarness(hub, 'devbox'), await scriptedHarness(hub, 'devbox')];
	const [good, bad] = [reading.claim(), stuck.claim()];
	await eventually(() => executor.frames.length === 2);
	stuck.socket.pause();
	const payload = Buffer.alloc(60_000, 'x');
	let seq = 0;
	for (; executor.of(bad, 'reset').length === 0; seq++) {
		executor.send(bad, {kind: 'data', seq, payload});
		executor.send(good, {kind: 'data', seq, payload: Buffer.from('y')});
		// Frames count when the hub has them.
		do await new Promise(resolve => setImmediate(resolve));
		while (executor.socket.bufferedAmount > MAX_AHEAD_BYTES && executor.of(bad, 'reset').length === 0);
	}
	// Not because it was silent for long.
	expect(seq * payload.length).toBeLessThan(4 * MAX_HARNESS_BACKLOG_BYTES);
	await eventually(() => reading.of(good, 'data').length === seq);
	const order = reading.frames.map(({body}) => (body.kind === 'data' ? body.seq : -1));
	expect(order).toEqual(Array.from({length: seq}, (_, index) => index));
	// Behind its reset the stream is unknown, and every further frame is answered by one.
	stuck.socket.resume();
	await stuck.closed;
	const arrived = stuck.frames.map(({body}) => (body.kind === 'data' ? body.seq : -1));
	expect(arrived).toEqual(arrived.map((_, index) => index));
});

test('rule 10: pings are answered, and an executor that answers none is offline before its clients give up', async () => {
	const {pingIntervalMs, peerTimeoutMs} = HUB_PEER_TIMES;
	expect([pingIntervalMs >= 10_000, pingIntervalMs <= 15_000, peerTimeoutMs < 25_000]).toEqual([true, true, true]);
	const hub = await runningHub({peerTimes: {pingIntervalMs: 100, peerTimeoutMs: 1500, stoppedPeerMs: 0}});
	const living = await scriptedExecutor(hub, 'living');
	const pinged = new Promise(resolve => living.socket.once('ping', resolve));
	const answered = new Promise(resolve => living.socket.once('pong', resolve));
	living.socket.ping();
	await Promise.all([pinged, answered]);
	await scriptedExecutor(hub, 'dead', createNoiseKeys(nodeNoiseCrypto), {autoPong: false});
	await eventually(() => hub.hub.relay.findExecutor('dead') === undefined);
	expect(hub.hub.relay.findExecutor('living')).toBeDefined();
});

test('rule 11: bodies, messages and requests of a token are bounded', async () => {
	const hub = await runningHub({rates: {token: {burst: 4, perSecond: 0.001}}});
	const post = async (body: string): Promise<number> => {
		const headers = {authorization: `Bearer ${hub.executorToken}`, 'content-type': 'application/json'};
		return (
			await fetch(`${hub.executorUrl ?? hub.url}/cloud/environment/devbox/register`, {method: 'POST', headers, body})
		).status;
	};
	expect(await post(JSON.stringify({padding: 'x'.repeat(16 * 1024)}))).toBe(413);
	const executor = await scriptedExecutor(hub, 'devbox');
	const harness = await scriptedHarness(hub, 'devbox');
	harness.socket.send(Buffer.alloc(MAX_RELAY_MESSAGE_BYTES + 1));
	expect(await harness.closed).toBe(1009);
	expect([await post('[]'), await post('[]'), await post('[]')]).toEqual([400, 400, 429]);
	executor.socket.terminate();
});

test('rule 12: no token, ticket or authorization is logged, and no answer echoes a token', async () => {
	const lines: string[] = [];
	const logger = createLineLogger({level: 'debug', format: 'json', write: line => lines.push(line)});
	const hub = await runningHub({logger});
	await runningExecutor(hub, 'devbox');
	await environmentVia(hub, 'devbox').shell('true');
	const secrets = [hub.executorToken, hub.clientToken, 'lhc_wrong-token'];
	const headers = {authorization: 'Bearer lhc_wrong-token'};
	await fetch(`${hub.url}/cloud/environment/devbox/connect?sig=in-a-query`, {method: 'POST', headers, body: '{}'});
	const key = freshKey();
	for (const [action, token, body] of [
		['register', hub.executorToken, {security_profile: 'noise_hybrid_ik_v1', executor_public_key: key}],
		['connect', hub.clientToken, {harness_public_key: key}],
	] as const) {
		const response = await fetch(
			`${hub.url}/cloud/environment/${action === 'register' ? 'other' : 'devbox'}/${action}`,
			{
				method: 'POST',
				headers: {authorization: `Bearer ${token}`},
				body: JSON.stringify(body),
			},
		);
		const text = await response.text();
		expect([response.status, text.includes(token)]).toEqual([200, false]);
		const {url, harness_key_authorization: authorization} = JSON.parse(text) as Record<string, string>;
		secrets.push(new URL(url!).search, ...new URL(url!).searchParams.get('sig')!.split(' '));
		if (authorization !== undefined) secrets.push(authorization);
		await statusOfUpgrade(`${url}x`);
	}
	const forged = signTicket(Buffer.alloc(32), {
		role: 'environment',
		tenant: 'default',
		environmentId: 'devbox',
		registrationId: 'x',
		tokenId: 'x',
	});
	expect(await statusOfUpgrade(`${hub.url.replace('http', 'ws')}/relay?${forged}`)).toBe(401);
	secrets.push(new URLSearchParams(forged).get('sig')!, 'in-a-query');
	const log = lines.join('');
	for (const event of ['executor registered', 'executor online', 'client let in', 'refused'])
		expect(log).toContain(event);
	for (const secret of secrets) expect(log).not.toContain(secret);
});
