// covers: src/hub/registry, src/hub/relay, src/hub/store, src/hub/access
// Everything that a hub keeps for others has an end, and says so.
import {once} from 'node:events';
import {statSync} from 'node:fs';
import {get, type IncomingMessage} from 'node:http';
import {connect} from 'node:net';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {HubAccess} from '../../src/hub/access/hub-access.js';
import {MAX_HARNESSES_PER_EXECUTOR} from '../../src/hub/relay/relay.js';
import {FileStore} from '../../src/hub/store/file-store.js';
import {HubTokens} from '../../src/hub/store/hub-tokens.js';
import {CLAIM_MS, GRANT_MS, MAX_CLAIMS, MAX_GRANTS, MemoryGrants} from '../../src/hub/store/memory-grants.js';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {silentLogger} from '../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {RegistryError} from '../../src/transports/node/relay/registry-errors.js';
import {runningExecutor, runningHub} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {
	clientRegistry,
	executorRegistry,
	openRelayPeer,
	scriptedExecutor,
	scriptedHarness,
} from '../helpers/relay-peers.js';
import {scratchDirectory} from '../helpers/scratch.js';

const KEY = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
const OTHER_KEY = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));

test('a refusal reaches a client that sends the rest of its request before it looks for an answer', async () => {
	const {url} = await runningHub();
	const {hostname, port} = new URL(url);
	const socket = connect(Number(port), hostname);
	onTestFinished(() => void socket.destroy());
	await once(socket, 'connect');
	socket.pause();
	socket.write('POST /nothing HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 4\r\n\r\n');
	for (let piece = 0; piece < 4; piece++) {
		// The hub has seen all before, and a connection that it has closed is known as such.
		await fetch(new URL('/readyz', url)).then(response => response.text());
		socket.write('.');
	}
	const answered = once(socket, 'data');
	socket.resume();
	const [answer] = (await answered) as [Buffer];
	expect(answer.toString()).toMatch(/^HTTP\/1\.1 404 /);
});

test('a token adds so many environments, and goes on with those it has', async () => {
	const hub = await runningHub({maxEnvironmentsPerToken: 2});
	const register = (id: string, key = KEY): Promise<unknown> => executorRegistry(hub, id).register(key);
	await register('one');
	await register('two');
	await expect(register('three')).rejects.toMatchObject({status: 429, code: 'too_many_environments', isPassing: true});
	await register('one', OTHER_KEY);
	const other = (await hub.hub.tokens.create('executor', '*')).token;
	await executorRegistry({...hub, executorToken: other}, 'three').register(KEY);
});

test('a hub knows so many environments in all, those of an earlier run included', async () => {
	const first = await runningHub({maxEnvironments: 2});
	await executorRegistry(first, 'one').register(KEY);
	await executorRegistry(first, 'two').register(KEY);
	await first.hub.close();
	const hub = await runningHub({data: first.data, maxEnvironments: 2});
	await expect(executorRegistry(hub, 'three').register(KEY)).rejects.toBeInstanceOf(RegistryError);
	await executorRegistry(hub, 'two').register(KEY);
});

test('an executor has so many sockets of clients, and takes another when one has left', async () => {
	const hub = await runningHub();
	await scriptedExecutor(hub, 'devbox');
	const first = await scriptedHarness(hub, 'devbox');
	for (let count = 1; count < MAX_HARNESSES_PER_EXECUTOR; count++) {
		const {url} = await clientRegistry(hub, 'devbox').connect(KEY);
		await openRelayPeer(url);
	}
	const late = await openRelayPeer((await clientRegistry(hub, 'devbox').connect(KEY)).url);
	// Try again later.
	expect(await late.closed).toBe(1013);
	first.socket.terminate();
	const executor = hub.hub.relay.findExecutor('devbox')!;
	await eventually(() => executor.harnesses.size === MAX_HARNESSES_PER_EXECUTOR - 1);
	const next = await scriptedHarness(hub, 'devbox');
	expect(next.socket.readyState).toBe(next.socket.OPEN);
});

test('a token has half of the authorizations and used tickets at most, others always find room, and none is forgotten early', async () => {
	const grants = new MemoryGrants();
	const put = (digest: string, holder: string): Promise<void> => grants.put(digest, Buffer.from('binding'), holder);
	for (let count = 0; count < MAX_GRANTS / 2; count++) await put(`grant ${count}`, 'greedy');
	await expect(put('late', 'greedy')).rejects.toThrow('too many clients connect at once');
	await put('of another', 'other');
	for (let count = 0; count < MAX_CLAIMS / 2; count++) await grants.claim(`ticket ${count}`, 'greedy');
	await expect(grants.claim('late', 'greedy')).rejects.toThrow('too many clients connect at once');
	expect([await grants.claim('of another', 'other'), await grants.claim('ticket 0', 'other')]).toEqual([true, false]);
	expect(await grants.take('grant 0')).toEqual(Buffer.from('binding'));
	const now = performance.now();
	const clock = vi.spyOn(performance, 'now').mockReturnValue(now + GRANT_MS + 1);
	onTestFinished(() => clock.mockRestore());
	await put('late', 'greedy');
	expect(await grants.claim('ticket 0', 'other')).toBe(false);
	clock.mockReturnValue(now + CLAIM_MS + 1);
	expect(await grants.claim('late', 'greedy')).toBe(true);
});

test('an address may ask so often, whatever its tokens, and loopback is not counted', async () => {
	const tokens = new HubTokens(scratchDirectory());
	const rates = {address: {burst: 2, perSecond: 0.001}};
	const access = new HubAccess({tokens, logger: silentLogger, rates});
	const ask = async (remoteAddress: string): Promise<unknown> => {
		const {token} = tokens.create('client', '*');
		const request = {headers: {authorization: `Bearer ${token}`}, socket: {remoteAddress}};
		try {
			await access.requireToken(request as unknown as IncomingMessage, 'client');
			return 'answered';
		} catch (error) {
			return (error as {status?: unknown}).status;
		}
	};
	const far = [await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.2')];
	expect(far).toEqual(['answered', 'answered', 429, 'answered']);
	expect([await ask('127.0.0.1'), await ask('::1'), await ask('::ffff:127.0.0.1')]).toEqual(Array(3).fill('answered'));
});

test('an executor that comes back with another key again and again does not make the file of registrations grow for ever', async () => {
	const directory = scratchDirectory();
	const store = new FileStore(directory);
	const place = {tenant: 'default', environmentId: 'devbox'};
	let largest = 0;
	for (let count = 0; count < 1100; count++) {
		const registration = {...place, registrationId: String(count), key: KEY, displaced: []};
		expect(await store.putRegistration(registration, (await store.findRegistration(place))?.revision)).toBe(true);
		largest = Math.max(largest, statSync(join(directory, 'registrations.jsonl')).size);
	}
	expect(statSync(join(directory, 'registrations.jsonl')).size).toBeLessThan(largest / 5);
	await store.close();
	const again = new FileStore(directory);
	expect((await again.findRegistration(place))?.registration.registrationId).toBe('1099');
	await again.close();
});

test('a hub that ends refuses newcomers with 503 until the others have left', async () => {
	const hub = await runningHub({hasGateway: true});
	const executor = await scriptedExecutor(hub, 'devbox');
	// It does not answer to the close.
	executor.socket.pause();
	const ended = hub.hub.close();
	const ready = await statusOf(`${hub.url}/readyz`);
	const client = clientRegistry(hub, 'devbox').connect(KEY);
	await expect(client).rejects.toMatchObject({status: 503, code: 'pod_draining', isPassing: true});
	await expect(openRelayPeer(executor.registration.url)).rejects.toThrow('503 pod_draining');
	expect(ready).toBe(503);
	await ended;
	await expect(clientRegistry(hub, 'devbox').connect(KEY)).rejects.toThrow('ECONNREFUSED');
});

test('a plain client that does not answer to a close does not keep a hub', async () => {
	const hub = await runningHub({hasGateway: true});
	await runningExecutor(hub, 'devbox');
	const address = `${hub.url.replace('http', 'ws')}/environments/devbox`;
	const client = await openRelayPeer(address, {headers: {authorization: `Bearer ${hub.clientToken}`}});
	client.socket.pause();
	await hub.hub.close();
	client.socket.resume();
	expect(await client.closed).toBeGreaterThan(1000);
});

function statusOf(url: string): Promise<number | undefined> {
	return new Promise((resolve, reject) => {
		const asked = get(url, {agent: false}, response => {
			response.resume();
			resolve(response.statusCode);
		});
		asked.on('error', reject);
	});
}
