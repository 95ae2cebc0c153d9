// covers: src/hub/access/fair-share.ts, src/hub/access/hub-connections.ts, src/hub/relay/relay.ts, src/hub/gateway, src/hub/pools, src/hub/registry
// A limit that several tokens or addresses share is not used up by one of them.
import {once} from 'node:events';
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {
	connectionLimits,
	HubConnections,
	MAX_HUB_CONNECTIONS,
	MAX_STRANGERS,
} from '../../src/hub/access/hub-connections.js';
import {MAX_WATCHERS} from '../../src/hub/environment-routes.js';
import {PendingPicks} from '../../src/hub/pools/pending-picks.js';
import {MAX_HARNESSES_PER_EXECUTOR, MAX_STREAMS_PER_EXECUTOR, Relay} from '../../src/hub/relay/relay.js';
import type {RelaySocket} from '../../src/hub/relay/relay-ends.js';
import type {HubTokenKind} from '../../src/hub/store/hub-records.js';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {findSurplus} from '../../src/shared/fair-share.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {unless} from '../helpers/needs.js';
import {eventually} from '../helpers/processes.js';
import {UPGRADE} from '../helpers/raw-http.js';
import {executorRegistry, openRelayPeer, scriptedExecutor, scriptedHarness} from '../helpers/relay-peers.js';

const KEY = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));

/** The hub, with another token of a client. */
async function withOtherClient(hub: RunningHub): Promise<RunningHub> {
	return {...hub, clientToken: (await hub.hub.tokens.create('client', '*')).token};
}

/** The entry that makes room among those of holders with names of one letter. */
function surplusOf(holders: string, newcomer: string): string | undefined {
	const entries = holders.split('').map((holder, index) => `${holder}${index}`);
	return findSurplus(entries, entry => entry[0]!, newcomer);
}

test('the holder that has most makes room, but not for somebody who would have as many', () => {
	expect(surplusOf('aaab', 'c')).toBe('a0');
	expect(surplusOf('baaa', 'b')).toBe('a1');
	expect(surplusOf('aabb', 'b')).toBeUndefined();
	expect(surplusOf('aaab', 'a')).toBeUndefined();
	expect(surplusOf('abc', 'd')).toBeUndefined();
});

test('a client that claims every stream of a machine makes room for a client with another token', async () => {
	const hub = await runningHub();
	const executor = await scriptedExecutor(hub, 'devbox');
	const greedy = await scriptedHarness(hub, 'devbox');
	const [oldest] = Array.from({length: MAX_STREAMS_PER_EXECUTOR}, () => greedy.claim());
	await eventually(() => executor.frames.length === MAX_STREAMS_PER_EXECUTOR);
	const other = await scriptedHarness(await withOtherClient(hub), 'devbox');
	const stream = other.claim();
	await eventually(() => executor.of(stream, 'resume').length === 1);
	await eventually(() => greedy.of(oldest!, 'reset').length === 1);
	expect(executor.of(oldest!, 'reset').length).toBe(1);
	expect([greedy.socket.readyState, other.socket.readyState]).toEqual([greedy.socket.OPEN, other.socket.OPEN]);
});

test('sockets of one token do not keep those of another from a machine', () => {
	const relay = new Relay({changed: () => {}});
	const closed: string[] = [];
	const socketOf = (name: string): RelaySocket => ({
		backlog: 0,
		send: () => {},
		pause: () => {},
		resume: () => {},
		close: () => closed.push(name),
		destroy: () => {},
	});
	const place = {tenant: 'default', environmentId: 'devbox', registrationId: 'r', tokenId: 'machine'};
	const executor = relay.addExecutor(place, socketOf('executor'));
	for (let count = 0; count < MAX_HARNESSES_PER_EXECUTOR; count++) {
		expect(relay.addHarness(executor, 'greedy', socketOf(`greedy ${count}`))).toBeDefined();
	}
	expect(relay.addHarness(executor, 'greedy', socketOf('late'))).toBeUndefined();
	expect(relay.addHarness(executor, 'other', socketOf('other'))).toBeDefined();
	expect(closed).toEqual(['greedy 0']);
});

test('clients of the gateway that wait for machines without an answer do not keep other tokens out', async () => {
	const maxGatewayClients = 4;
	const hub = await runningHub({hasGateway: true, maxGatewayClients});
	await scriptedExecutor(hub, 'silent');
	await runningExecutor(hub, 'devbox');
	const {hostname, port, host} = new URL(hub.url);
	const lines = Object.entries({Host: host, Authorization: `Bearer ${hub.clientToken}`, ...UPGRADE});
	const headers = lines.map(each => each.join(': ')).join('\r\n');
	const open = (): Socket => {
		const socket = connect({host: hostname, port: Number(port)});
		onTestFinished(() => void socket.destroy());
		socket.on('error', () => {});
		socket.write(`GET /environments/silent HTTP/1.1\r\n${headers}\r\n\r\n`);
		return socket;
	};
	const waiting = Array.from({length: maxGatewayClients}, open);
	await eventually(() => hub.hub.relay.findExecutor('silent')!.streams.size === maxGatewayClients);
	const [refusal] = (await once(open(), 'data')) as [Buffer];
	expect(refusal.toString()).toMatch(/^HTTP\/1\.1 503 /);
	const {clientToken} = await withOtherClient(hub);
	const address = `${hub.url.replace('http', 'ws')}/environments/devbox`;
	await openRelayPeer(address, {headers: {authorization: `Bearer ${clientToken}`}});
	await eventually(() => waiting.some(socket => socket.destroyed));
});

test('followers of the list of machines with one token do not keep other tokens out', async () => {
	const hub = await runningHub();
	const watch = async (clientToken: string): Promise<Response> =>
		fetch(`${hub.url}/environments?watch=1`, {headers: {authorization: `Bearer ${clientToken}`}});
	// Referred to until the end: a response that was collected as garbage would end its connection.
	const followers: Response[] = [];
	for (let count = 0; count < MAX_WATCHERS; count++) followers.push(await watch(hub.clientToken));
	expect((await watch(hub.clientToken)).status).toBe(503);
	const {clientToken} = await withOtherClient(hub);
	expect((await watch(clientToken)).status).toBe(200);
	expect(followers.map(({status}) => status)).toEqual(Array<number>(MAX_WATCHERS).fill(200));
	await expect(followers[0]!.text()).rejects.toThrow('terminated');
});

test('clients of a pool that are announced and do not come do not use up its slots for other tokens', () => {
	const picks = new PendingPicks();
	const executor = {load: undefined, streams: {size: 0}};
	const pick = (tokenId: string): string => picks.pick(executor, 4, tokenId);
	expect(['greedy', 'greedy', 'greedy', 'greedy', 'greedy'].map(pick)).toEqual([
		...Array<string>(4).fill('picked'),
		'full',
	]);
	expect([pick('other'), pick('greedy'), pick('other'), pick('other')]).toEqual(['picked', 'full', 'picked', 'full']);
});

/** Accepted and closed connections of a server with these limits; the address of a client is that of its own side. */
async function limitedServer(limits: {members: number; strangers: number}): Promise<{
	readonly connections: HubConnections;
	readonly accepted: Socket[];
	readonly open: (localAddress: string) => Promise<Socket>;
}> {
	const connections = new HubConnections(limits);
	const accepted: Socket[] = [];
	const server = createServer(socket => {
		accepted.push(socket);
		connections.add(socket);
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	onTestFinished(() => {
		for (const socket of accepted) socket.destroy();
		server.close();
	});
	const open = async (localAddress: string): Promise<Socket> => {
		const before = accepted.length;
		const socket = connect({host: '127.0.0.1', port: (server.address() as AddressInfo).port, localAddress});
		socket.on('error', () => {});
		onTestFinished(() => void socket.destroy());
		await eventually(() => accepted.length > before);
		return socket;
	};
	return {connections, accepted, open};
}

test(
	'idle connections of one address without any token do not keep other addresses out',
	unless(process.platform === 'linux' ? undefined : 'loopback has one address here'),
	async () => {
		const {accepted, open} = await limitedServer({members: 4, strangers: 3});
		await open('127.0.0.3');
		for (let count = 0; count < 3; count++) await open('127.0.0.2');
		// Not the oldest of all, but one of the address that has most.
		expect(accepted.map(socket => socket.destroyed)).toEqual([false, true, false, false]);
		await open('127.0.0.4');
		expect(accepted.map(socket => socket.destroyed)).toEqual([false, true, true, false, false]);
	},
);

test('idle connections do not keep out a client of the same address, which shows its token at once', async () => {
	const hub = await runningHub();
	const {hostname, port} = new URL(hub.url);
	const idle = Array.from({length: connectionLimits().strangers + 1}, () => {
		const socket = connect({host: hostname, port: Number(port)});
		socket.on('error', () => {});
		onTestFinished(() => void socket.destroy());
		return socket;
	});
	await Promise.all(idle.map(socket => once(socket, 'connect')));
	const response = await fetch(`${hub.url}/environments`, {headers: {authorization: `Bearer ${hub.clientToken}`}});
	expect(response.status).toBe(200);
});

test('connections that have shown a token are not closed for strangers, and are shared by token', async () => {
	const {connections, accepted, open} = await limitedServer({members: 2, strangers: 2});
	const admit = (index: number, tokenId: string, kind: HubTokenKind = 'client'): boolean =>
		connections.admit(accepted[index]!, tokenId, kind);
	for (let count = 0; count < 2; count++) {
		await open('127.0.0.1');
		expect(admit(count, 'greedy')).toBe(true);
	}
	for (let count = 0; count < 3; count++) await open('127.0.0.1');
	expect(accepted.map(socket => socket.destroyed)).toEqual([false, false, true, false, false]);
	expect([admit(3, 'greedy'), admit(4, 'other')]).toEqual([false, true]);
	expect(accepted.map(socket => socket.destroyed)).toEqual([true, false, true, false, false]);
});

test('clients do not take the connections of machines that have one token, and other machines do', async () => {
	const {connections, accepted, open} = await limitedServer({members: 3, strangers: 3});
	for (let count = 0; count < 3; count++) {
		await open('127.0.0.1');
		expect(connections.admit(accepted.at(-1)!, 'fleet', 'executor')).toBe(true);
	}
	await open('127.0.0.1');
	expect(connections.admit(accepted.at(-1)!, 'client', 'client')).toBe(false);
	expect(connections.admit(accepted.at(-1)!, 'machine', 'executor')).toBe(true);
	expect(accepted.map(socket => socket.destroyed)).toEqual([true, false, false, false]);
});

test('a hub takes no more connections than it has descriptors for', () => {
	expect(connectionLimits(1024)).toEqual({strangers: 224, members: 672});
	expect(connectionLimits(Number.POSITIVE_INFINITY)).toEqual({strangers: MAX_STRANGERS, members: MAX_HUB_CONNECTIONS});
});

test('the environments of a token are counted over restarts of the hub', async () => {
	const first = await runningHub({maxEnvironmentsPerToken: 2});
	await executorRegistry(first, 'one').register(KEY);
	await executorRegistry(first, 'two').register(KEY);
	await first.hub.close();
	const second = await runningHub({data: first.data, maxEnvironmentsPerToken: 2});
	const sameToken = {...second, executorToken: first.executorToken};
	await expect(executorRegistry(sameToken, 'three').register(KEY)).rejects.toMatchObject({status: 429});
	await executorRegistry(sameToken, 'two').register(KEY);
	await executorRegistry(second, 'three').register(KEY);
});

test.each(['a machine', 'a client of the gateway'])('pings of %s that does not read take no memory', async who => {
	const hub = await runningHub({hasGateway: true});
	const executor = await scriptedExecutor(hub, 'devbox');
	let {socket} = executor;
	if (who !== 'a machine') {
		await runningExecutor(hub, 'other');
		const url = `${hub.url.replace(/^http/, 'ws')}/environments/other`;
		({socket} = await openRelayPeer(url, {headers: {authorization: `Bearer ${hub.clientToken}`}}));
	}
	const data = Buffer.alloc(125);
	let pongs = 0;
	socket.on('pong', () => pongs++);
	socket.pause();
	for (let count = 0; count < 100_000; count++) socket.ping(data);
	await eventually(() => socket.bufferedAmount === 0);
	socket.resume();
	// One of them is answered when the hub has room again.
	const answered = new Promise(resolve => socket.on('pong', bytes => void (String(bytes) === 'end' && resolve(true))));
	const asking = setInterval(() => socket.ping('end'), 20);
	onTestFinished(() => clearInterval(asking));
	await answered;
	expect(pongs).toBeLessThan(100_000);
});
