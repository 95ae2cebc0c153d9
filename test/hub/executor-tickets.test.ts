// covers: src/hub/relay/executor-proofs.ts, src/hub/relay/relay-upgrades.ts, src/hub/registry/tickets.ts, src/transports/node/relay/executor-link.ts
// The address of a machine's socket may be in the log of a proxy.
import {expect, test} from 'vitest';
import {FRESH_TICKET_MS, TICKET_MS} from '../../src/hub/registry/tickets.js';
import {MAX_UNPROVEN_PER_REGISTRATION} from '../../src/hub/relay/executor-proofs.js';
import {decodeRelayKey, encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {fingerprintOfKeys} from '../../src/transports/node/relay/known-executors.js';
import {
	connectVia,
	currentHubKind,
	environmentVia,
	type RunningHub,
	runningExecutor,
	runningHub,
} from '../helpers/hubs.js';
import {eventually} from '../helpers/processes.js';
import {
	clientRegistry,
	openRelayPeer,
	type RelayPeer,
	scriptedExecutor,
	scriptedHarness,
	statusOfUpgrade,
} from '../helpers/relay-peers.js';
import {upstreamLikeExecutor} from '../helpers/upstream-like-executor.js';

const KEY = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));

/** Somebody who has read the address of a machine's socket, and has been asked for a proof of its key. */
async function thief(url: string): Promise<RelayPeer & {readonly streamId: string}> {
	const peer = await openRelayPeer(url);
	await eventually(() => peer.frames.length === 2);
	const [resume, handshake] = peer.frames;
	expect([resume!.body.kind, handshake!.body.kind]).toEqual(['resume', 'handshake']);
	return Object.assign(peer, {streamId: handshake!.streamId});
}

function restart({hub, data, executorUrl, url}: RunningHub): Promise<RunningHub> {
	const port = Number(new URL(executorUrl ?? url).port);
	return hub.close().then(() => runningHub({data, port}));
}

test('a used address of a machine neither displaces the machine nor becomes it', async () => {
	const hub = await runningHub();
	const machine = await upstreamLikeExecutor(hub, 'devbox');
	const {url} = machine.registration;
	const isOnline = (): boolean => hub.hub.relay.findExecutor('devbox') !== undefined;
	await eventually(isOnline);
	const live = hub.hub.relay.findExecutor('devbox');
	const box = environmentVia(hub, 'devbox');
	await box.shell('true');
	const [guessing, refusing, silent] = [await thief(url), await thief(url), await thief(url)];
	guessing.send(guessing.streamId, {kind: 'handshake', payload: Buffer.alloc(3424, 7)});
	refusing.send(refusing.streamId, {kind: 'reset', reason: 'no'});
	expect(await Promise.all([guessing.closed, refusing.closed])).toEqual([1013, 1013]);
	expect([machine.isOpen, hub.hub.relay.findExecutor('devbox') === live]).toEqual([true, true]);
	expect((await box.shell('echo on')).stdout.text).toBe('on\n');
	// It stays offline when the machine is gone, for a silent thief as well.
	machine.cut();
	await eventually(() => !isOnline());
	await thief(url);
	expect(silent.socket.readyState).toBe(silent.socket.OPEN);
	const offline = {status: 409, code: 'environment_offline'};
	await expect(clientRegistry(hub, 'devbox').connect(KEY)).rejects.toMatchObject(offline);
	expect(isOnline()).toBe(false);
});

test('others who use the address of a machine do not keep it from returning, and their number is bounded', async () => {
	const hub = await runningHub();
	const machine = await upstreamLikeExecutor(hub, 'devbox');
	const {url} = machine.registration;
	machine.cut();
	await eventually(() => hub.hub.relay.findExecutor('devbox') === undefined);
	const first = await thief(url);
	for (let count = 0; count < MAX_UNPROVEN_PER_REGISTRATION; count++) await thief(url);
	// The oldest had to go.
	await first.closed;
	await machine.open();
	await eventually(() => hub.hub.relay.findExecutor('devbox') !== undefined);
	expect((await environmentVia(hub, 'devbox').shell('echo back')).stdout.text).toBe('back\n');
});

test('a client cannot have the machine answer the question that somebody else was asked', async () => {
	const hub = await runningHub();
	const machine = await upstreamLikeExecutor(hub, 'devbox');
	await eventually(() => hub.hub.relay.findExecutor('devbox') !== undefined);
	const {streamId} = await thief(machine.registration.url);
	const accomplice = await scriptedHarness(hub, 'devbox');
	accomplice.claim(streamId);
	expect(await accomplice.closed).toBe(1008);
});

test('an address of a machine that is not used at once, or is of an earlier run of the hub, needs the proof', async () => {
	const hub = await runningHub();
	const machine = await upstreamLikeExecutor(hub, 'devbox');
	const query = new URL(machine.registration.url).searchParams;
	const altered = new URL(machine.registration.url);
	expect(Number(query.get('expires')) - Date.now()).toBeGreaterThan(TICKET_MS.environment - FRESH_TICKET_MS);
	altered.searchParams.set('expires', String(Date.now()));
	expect(await statusOfUpgrade(altered.href)).toBe(401);
	machine.cut();
	const second = await restart(hub);
	await thief(machine.registration.url);
	expect(second.hub.relay.findExecutor('devbox')).toBeUndefined();
	await machine.open();
	await eventually(() => second.hub.relay.findExecutor('devbox') !== undefined);
});

test('a machine that registers with another key is not displaced by an address of the former one', async () => {
	const hub = await runningHub();
	const former = await upstreamLikeExecutor(hub, 'devbox');
	await eventually(() => hub.hub.relay.findExecutor('devbox') !== undefined);
	const next = await scriptedExecutor(hub, 'devbox');
	await expect(former.open()).rejects.toMatchObject({status: 409});
	expect(next.socket.readyState).toBe(next.socket.OPEN);
});

test('the ticket of a client is good once and for a minute, and not after a restart of a hub that is alone', async () => {
	const hub = await runningHub();
	const keys = createNoiseKeys(nodeNoiseCrypto);
	await scriptedExecutor(hub, 'devbox', keys);
	const unused = await clientRegistry(hub, 'devbox').connect(KEY);
	const used = await clientRegistry(hub, 'devbox').connect(KEY);
	expect(Number(new URL(used.url).searchParams.get('expires')) - Date.now()).toBeLessThanOrEqual(TICKET_MS.harness);
	await openRelayPeer(used.url);
	expect(await statusOfUpgrade(used.url)).toBe(401);
	if (currentHubKind() !== 'embedded') return;
	const second = await restart(hub);
	await scriptedExecutor(second, 'devbox', keys);
	expect([await statusOfUpgrade(used.url), await statusOfUpgrade(unused.url)]).toEqual([401, 401]);
});

test('a machine that lets in listed keys only comes back after a cut and after a restart of the hub', async () => {
	const hub = await runningHub();
	const [keys, stranger] = [createNoiseKeys(nodeNoiseCrypto), createNoiseKeys(nodeNoiseCrypto)];
	const allowed = fingerprintOfKeys(publicKeysOf(keys));
	await runningExecutor(hub, 'devbox', createNoiseKeys(nodeNoiseCrypto), {
		isAllowed: ({key}) => fingerprintOfKeys(decodeRelayKey(key)) === allowed,
	});
	const isOnline = (): boolean => hub.hub.relay.findExecutor('devbox') !== undefined;
	await eventually(isOnline);
	const enter = async (to: RunningHub): Promise<void> => (await connectVia(to, 'devbox', keys)()).destroy();
	await enter(hub);
	await expect(connectVia(hub, 'devbox', stranger)()).rejects.toThrow('does not let the key of this client in');
	const before = hub.hub.relay.findExecutor('devbox')!;
	before.socket.destroy(new Error('cut'));
	await eventually(() => isOnline() && hub.hub.relay.findExecutor('devbox') !== before);
	await enter(hub);
	const second = await restart(hub);
	await eventually(() => second.hub.relay.findExecutor('devbox') !== undefined);
	await enter(second);
});
