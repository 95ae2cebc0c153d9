// covers: src/hub/nats, src/hub/cluster
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {isOlderThan, openNatsLink, withoutPassword} from '../../../src/hub/nats/nats-link.js';
import {loadJetStream} from '../../../src/hub/nats/nats-modules.js';
import {encodeRelayKey} from '../../../src/protocol/relay/relay-keys.js';
import {silentLogger} from '../../../src/shared/logger.js';
import {nodeNoiseCrypto} from '../../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../../src/shared/noise/hybrid-ik.js';
import {Authority} from '../../helpers/certificates.js';
import {environmentVia, type RunningHub, runningExecutor, runningNode} from '../../helpers/hubs.js';
import {runningNats} from '../../helpers/nats-servers.js';
import {needs} from '../../helpers/needs.js';
import {askUntil, eventually} from '../../helpers/processes.js';
import {
	clientRegistry,
	executorRegistry,
	openRelayPeer,
	scriptedExecutor,
	scriptedHarness,
	statusOfUpgrade,
} from '../../helpers/relay-peers.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {upstreamLikeExecutor} from '../../helpers/upstream-like-executor.js';

const freshKey = (): ReturnType<typeof encodeRelayKey> =>
	encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));

/** Nodes of one hub, each with the tokens of the first. */
async function nodes(count: number, servers = 1): Promise<{hubs: readonly RunningHub[]; urls: readonly string[]}> {
	const urls = (await runningNats(servers)).map(({url}) => url);
	const running = await Promise.all(Array.from({length: count}, () => runningNode(urls)));
	const {tokens} = running[0]!.hub;
	const executorToken = (await tokens.create('executor', '*')).token;
	const clientToken = (await tokens.create('client', '*')).token;
	const hubs = running.map(({hub, url}) => ({hub, url, data: '', executorToken, clientToken}));
	return {hubs, urls};
}

const needsNats = needs('nats-server');

test('a token that was made at one node is good at another at once, and revoked there soon', needsNats, async () => {
	const {hubs} = await nodes(2);
	const [one, other] = [hubs[0]!, hubs[1]!];
	const {token, record} = await one.hub.tokens.create('client', 'dev*');
	const connect = clientRegistry({...other, clientToken: token}, 'devbox').connect(freshKey());
	await expect(connect).rejects.toMatchObject({status: 409});
	expect(await one.hub.tokens.revoke(record.id)).toBe(true);
	await eventually(() => !other.hub.tokens.isGood(record.id));
	const again = clientRegistry({...other, clientToken: token}, 'devbox').connect(freshKey());
	await expect(again).rejects.toMatchObject({status: 401});
});

test('a ticket of a client opens one socket at whatever node it is used', needsNats, async () => {
	const {hubs} = await nodes(3);
	const executor = await upstreamLikeExecutor(hubs[0]!, 'devbox');
	await eventually(() => hubs[0]!.hub.relay.findExecutor('devbox') !== undefined);
	const {url} = await clientRegistry(hubs[1]!, 'devbox').connect(freshKey());
	const elsewhere = (node: RunningHub): string =>
		`${node.url.replace('http', 'ws')}${new URL(url).pathname}${new URL(url).search}`;
	const client = await openRelayPeer(elsewhere(hubs[2]!));
	client.claim();
	await eventually(() => hubs[0]!.hub.relay.findExecutor('devbox')!.streams.size === 1);
	expect(await statusOfUpgrade(elsewhere(hubs[1]!))).toBe(401);
	// That of an executor opens another one if the executor proves its key there.
	const moved = executor.registration.url.replace(
		hubs[0]!.url.replace('http', 'ws'),
		hubs[2]!.url.replace('http', 'ws'),
	);
	const thief = await openRelayPeer(moved);
	await eventually(() => thief.frames.length === 2);
	expect(hubs[0]!.hub.relay.findExecutor('devbox')).toBeDefined();
	await executor.open(moved);
	expect(await client.closed).toBe(1001);
	await eventually(() => hubs[2]!.hub.relay.findExecutor('devbox') !== undefined);
	expect(hubs[0]!.hub.relay.findExecutor('devbox')).toBeUndefined();
});

test(
	'an executor with another key at another node takes the place of the first, which is refused at a third',
	needsNats,
	async () => {
		const {hubs} = await nodes(3);
		const first = await scriptedExecutor(hubs[0]!, 'devbox');
		const client = await scriptedHarness(hubs[2]!, 'devbox');
		const second = await scriptedExecutor(hubs[1]!, 'devbox');
		expect(await first.closed).toBe(1001);
		expect(await client.closed).toBe(1001);
		const register = executorRegistry(hubs[2]!, 'devbox').register(encodeRelayKey(publicKeysOf(first.keys)));
		await expect(register).rejects.toMatchObject({status: 409, code: 'registration_conflict'});
		second.socket.terminate();
		await eventually(() => hubs[1]!.hub.relay.findExecutor('devbox') === undefined);
		const bundle = clientRegistry(hubs[2]!, 'devbox').connect(freshKey());
		await expect(bundle).rejects.toMatchObject({status: 409, code: 'environment_offline'});
	},
);

test('executors that register at the same time at different nodes end with one registration', needsNats, async () => {
	const {hubs} = await nodes(3);
	const registered = await Promise.all(
		Array.from({length: 12}, (_, index) => executorRegistry(hubs[index % 3]!, 'devbox').register(freshKey())),
	);
	const current = await hubs[0]!.hub.cluster.isOnline({tenant: 'default', environmentId: 'devbox'}, 'none');
	expect(current).toBe(false);
	const statuses = await Promise.all(registered.map(({url}) => statusOfUpgrade(url)));
	expect(statuses.filter(status => status === 101).length).toBe(1);
	expect(statuses.filter(status => status === 409).length).toBe(11);
});

test('every node lists the executors of all others, and learns who comes and goes', needsNats, async () => {
	const {hubs} = await nodes(3);
	const watching = await fetch(`${hubs[2]!.url}/environments?watch=1`, {
		headers: {authorization: `Bearer ${hubs[2]!.clientToken}`},
	});
	const lines = watching.body!.pipeThrough(new TextDecoderStream()).getReader();
	const executor = await scriptedExecutor(hubs[0]!, 'devbox');
	expect((await lines.read()).value).toBe('{"id":"devbox","isOnline":true}\n');
	expect(hubs[2]!.hub.cluster.leases('default')).toMatchObject([{environmentId: 'devbox', isDraining: false}]);
	executor.socket.terminate();
	expect((await lines.read()).value).toBe('{"id":"devbox","isOnline":false}\n');
	await lines.cancel();
	await eventually(() => hubs[1]!.hub.cluster.nodes().length === 3);
});

test('leases that vanish all at once are unknown for a while, and written again', needsNats, async () => {
	const {hubs, urls} = await nodes(2);
	await scriptedExecutor(hubs[0]!, 'devbox');
	const place = {tenant: 'default', environmentId: 'devbox'};
	await eventually(() => hubs[1]!.hub.cluster.findLease(place) !== undefined);
	const link = await openNatsLink({servers: urls, name: 'test', logger: silentLogger});
	const manager = await loadJetStream().jetstreamManager(link.connection);
	await manager.streams.delete('KV_longarm_leases');
	const isBack = async (): Promise<boolean> =>
		manager.streams.info('KV_longarm_leases').then(
			() => true,
			() => false,
		);
	await askUntil(isBack, Boolean);
	expect(hubs[1]!.hub.cluster.findLease(place)).toBeDefined();
	// Nobody is refused because of a lease.
	await scriptedHarness(hubs[1]!, 'devbox');
	await link.close();
});

test(
	'a server of NATS that is lost is replaced by another, and a process goes on without a lost line',
	needsNats,
	async () => {
		const servers = await runningNats(3);
		const urls = servers.map(({url}) => url);
		const [one, other] = await Promise.all([runningNode(urls), runningNode(urls)]);
		const executorToken = (await one.hub.tokens.create('executor', '*')).token;
		const clientToken = (await one.hub.tokens.create('client', '*')).token;
		const shared = {data: '', executorToken, clientToken};
		await runningExecutor({...one, ...shared}, 'devbox');
		const box = environmentVia({...other, ...shared}, 'devbox');
		const process = await box.start(['sh', '-c', 'for i in $(seq 1 200); do echo $i; read line; done'], {
			stdin: true,
			backpressure: true,
		});
		const decoder = new TextDecoder();
		let text = '';
		let answered = 0;
		for await (const piece of process.output()) {
			if (piece.kind !== 'output') throw new Error('a gap');
			text += decoder.decode(piece.bytes, {stream: true});
			for (const seen = text.split('\n').length - 1; answered < seen; answered++) {
				if (answered === 100) {
					const used = other.hub.cluster.natsStatus()!.server;
					await servers.find(({url}) => url.endsWith(used.replace(/^.*:/, ':')))!.kill();
				}
				await process.write('\n');
			}
		}
		expect(text).toBe(Array.from({length: 200}, (_, index) => `${index + 1}\n`).join(''));
		expect(await process.exited).toMatchObject({exitCode: 0});
	},
);

test(
	'a node speaks TLS with NATS, shows its own certificate, and trusts no other authority',
	needs('nats-server', 'openssl'),
	async () => {
		const authority = new Authority();
		const [server, client] = [authority.issue(), authority.issue('hub')];
		const caFile = join(scratchDirectory(), 'ca.pem');
		writeFileSync(caFile, authority.ca);
		const tls = `tls { cert_file: "${server.certPath}", key_file: "${server.keyPath}", ca_file: "${caFile}", verify: true }`;
		const [nats] = await runningNats(1, [tls]);
		const options = {
			servers: [nats!.url.replace('nats:', 'tls:')],
			name: 'test',
			logger: silentLogger,
			startTimeoutMs: 0,
		};
		const own = {certFile: client.certPath, keyFile: client.keyPath};
		const link = await openNatsLink({...options, tls: {caFile, ...own}});
		expect(await link.isAnswering()).toBe(true);
		await link.close();
		const other = join(scratchDirectory(), 'other.pem');
		writeFileSync(other, new Authority('another authority').ca);
		await expect(openNatsLink({...options, tls: {caFile: other, ...own}})).rejects.toMatchObject({
			code: 'NATS_UNUSABLE',
		});
		await expect(openNatsLink({...options, tls: {caFile}})).rejects.toMatchObject({code: 'NATS_UNUSABLE'});
	},
);

test('versions of NATS are compared by their numbers, and addresses are shown without passwords', () => {
	expect(
		['2.9.10', '2.12.8', '1.99.99', '2.12.9-RC.1', '2.12.10', '2.13.0', '3.0.0'].map(each =>
			isOlderThan(each, [2, 12, 9]),
		),
	).toEqual([true, true, true, false, false, false, false]);
	expect(withoutPassword('nats://user:secret@host:4222')).toBe('nats://host:4222');
	expect(withoutPassword('token@host:4222')).toBe('host:4222');
});
