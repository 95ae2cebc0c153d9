import {expect, test, vi} from 'vitest';
import type {ListedEnvironment} from '../../src/hub/environment-routes.js';
import {PENDING_PICK_MS} from '../../src/hub/pools/pending-picks.js';
import {decodeLoad, encodeLoad} from '../../src/protocol/relay/executor-offer.js';
import {encodeRelayKey} from '../../src/protocol/relay/relay-keys.js';
import {nodeNoiseCrypto} from '../../src/shared/node/node-noise-crypto.js';
import {createNoiseKeys, publicKeysOf} from '../../src/shared/noise/hybrid-ik.js';
import {DEFAULT_POOL_WAIT_MS} from '../../src/transports/node/relay/connect-attempts.js';
import {connectHarness} from '../../src/transports/node/relay/connect-harness.js';
import {environmentVia, type RunningHub, runningExecutor, runningHub} from '../helpers/hubs.js';
import {memberOf, poolEnvironment, poolMember} from '../helpers/pool-members.js';
import {askUntil, eventually} from '../helpers/processes.js';
import {clientRegistry, executorRegistry, scriptedExecutor} from '../helpers/relay-peers.js';
import {sh} from '../helpers/start-params.js';

const clientKeys = createNoiseKeys(nodeNoiseCrypto);
const clientKey = encodeRelayKey(publicKeysOf(clientKeys));

async function listed({url, clientToken}: RunningHub, query = ''): Promise<readonly ListedEnvironment[]> {
	const response = await fetch(`${url}/environments${query}`, {headers: {authorization: `Bearer ${clientToken}`}});
	expect(response.status).toBe(200);
	return ((await response.json()) as {environments: ListedEnvironment[]}).environments;
}

async function refusalsOf({url, clientToken}: RunningHub, reason: string): Promise<number> {
	const response = await fetch(`${url}/metrics`, {headers: {authorization: `Bearer ${clientToken}`}});
	const [, count] = new RegExp(`refusals_total\\{reason="${reason}"\\} (\\d+)`).exec(await response.text()) ?? [];
	return Number(count ?? 0);
}

/** Waits until the node of the clients knows so many slots in use. */
async function untilUsed(hub: RunningHub, id: string, used: number): Promise<void> {
	await askUntil(
		() => listed(hub),
		list => list.some(each => each.id === id && each.used === used),
	);
}

test('a client of a pool runs its command on a member, which the environment names', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1');
	await poolMember(hub, 'cpu-1', {pools: ['cpu']});
	const environment = poolEnvironment(hub, 'pool:gpu');
	expect((await environment.run(['printf', 'here'])).stdout.text).toBe('here');
	expect(await environment.member()).toBe(`registry+${hub.url}/gpu-1`);
});

test('labels choose a member as a pool does, and both together', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'one', {labels: {os: 'linux', arch: 'x64'}});
	await poolMember(hub, 'two', {labels: {os: 'linux', arch: 'arm64'}});
	await poolMember(hub, 'three', {labels: {os: 'linux', arch: 'arm64', path: 'a/b'}, pools: ['big']});
	expect(await memberOf(poolEnvironment(hub, '@os=linux+arch=x64'))).toBe('one');
	expect(await memberOf(poolEnvironment(hub, 'pool:gpu+arch=arm64'))).toBe('two');
	expect(await memberOf(poolEnvironment(hub, '@path=a%2Fb'))).toBe('three');
	await expect(memberOf(poolEnvironment(hub, 'pool:big+arch=x64', {poolWaitMs: 0}))).rejects.toMatchObject({
		code: 'POOL_EMPTY',
	});
});

test('of two members with room the less loaded one is chosen, by its share of slots', async () => {
	const hub = await runningHub();
	const large = await poolMember(hub, 'large', {slots: 4});
	await poolMember(hub, 'small', {slots: 2});
	await environmentVia(hub, 'large').start(['sleep', '600']);
	await untilUsed(hub, 'large', 1);
	// 1 of 4 and 0 of 2, then 1 of 4 and 1 of 2.
	expect(await memberOf(poolEnvironment(hub, 'pool:gpu'))).toBe('small');
	await untilUsed(hub, 'small', 1);
	expect(await memberOf(poolEnvironment(hub, 'pool:gpu'))).toBe('large');
	await untilUsed(hub, 'large', 2);
	expect(large.slots.used).toBe(2);
});

test('a full pool and an empty one are told apart, by code, status and text', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1', {slots: 1});
	const first = poolEnvironment(hub, 'pool:gpu');
	await first.member();
	await untilUsed(hub, 'gpu-1', 1);
	await expect(poolEnvironment(hub, 'pool:gpu', {poolWaitMs: 0}).member()).rejects.toMatchObject({
		code: 'POOL_FULL',
		message: 'every machine of pool:gpu is full',
		cause: {status: 503, code: 'pool_full'},
	});
	await expect(poolEnvironment(hub, 'pool:tpu', {poolWaitMs: 0}).member()).rejects.toMatchObject({
		code: 'POOL_EMPTY',
		message: 'no machine of pool:tpu is connected to the hub, or none that this token is good for',
		cause: {status: 409, code: 'pool_empty'},
	});
});

/** Slots in use by every account that the executors give of them from now on. */
function recordUsed({hub}: RunningHub): number[] {
	const used: number[] = [];
	const {relay} = hub;
	const receiveText = relay.receiveText.bind(relay);
	vi.spyOn(relay, 'receiveText').mockImplementation((executor, text) => {
		used.push(decodeLoad(text)!.used);
		receiveText(executor, text);
	});
	return used;
}

test('a slot is free as soon as its command has exited and its client has left', async () => {
	const hub = await runningHub();
	const members = [await poolMember(hub, 'a', {slots: 1}), await poolMember(hub, 'b', {slots: 1})];
	const used = recordUsed(hub);
	for (let times = 0; times < 12; times++) {
		const environment = poolEnvironment(hub, 'pool:gpu');
		expect((await environment.run(['true'])).exitCode).toBe(0);
		await environment.close();
	}
	await eventually(() => ['a', 'b'].every(id => hub.hub.relay.findExecutor(id)!.load!.used === 0));
	expect([Math.max(...used), ...members.map(({slots}) => slots.used)]).toEqual([1, 0, 0]);
});

test('a client and its process take one slot, also if the process outlives the client', async () => {
	const hub = await runningHub();
	const {slots} = await poolMember(hub, 'gpu-1', {slots: 1});
	const used = recordUsed(hub);
	const first = poolEnvironment(hub, 'pool:gpu');
	const {process} = await first.processes.start(sh('nap', 'cat', {pipeStdin: true, onDisconnect: 'keep'}));
	await untilUsed(hub, 'gpu-1', 1);
	await first.close();
	await eventually(() => hub.hub.relay.findExecutor('gpu-1')!.streams.size === 0);
	expect(slots.used).toBe(1);
	await expect(poolEnvironment(hub, 'pool:gpu', {poolWaitMs: 0}).member()).rejects.toMatchObject({code: 'POOL_FULL'});
	const byName = environmentVia(hub, 'gpu-1');
	const attached = await byName.attach(process.processId, {role: 'drive'});
	await attached.closeStdin();
	// Nobody but the process took it, and nobody else is told that it has ended.
	await eventually(() => hub.hub.relay.findExecutor('gpu-1')!.load!.used === 0);
	expect(Math.max(...used)).toBe(1);
});

test('as many clients as there are slots are let in at once, and one more as soon as one of them leaves', async () => {
	const hub = await runningHub();
	const members = [await poolMember(hub, 'a', {slots: 2}), await poolMember(hub, 'b', {slots: 2})];
	const used = recordUsed(hub);
	const clients = Array.from({length: 4}, () => poolEnvironment(hub, 'pool:gpu'));
	const processes = await Promise.all(clients.map(client => client.start(['sleep', '600'])));
	expect(members.map(({slots}) => slots.used)).toEqual([2, 2]);
	const last = poolEnvironment(hub, 'pool:gpu', {poolWaitMs: 60_000});
	const output = last.run(['printf', 'late']);
	await askUntil(
		() => refusalsOf(hub, 'pool_full'),
		count => count > 0,
	);
	await processes[0]!.terminate();
	await clients[0]!.close();
	expect((await output).stdout.text).toBe('late');
	expect(Math.max(...used)).toBe(2);
});

test('a client that vanished before it reached its machine is not waited for longer than a client waits', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1', {slots: 1});
	// It has its ticket, and does nothing with it.
	await clientRegistry(hub, 'pool:gpu').connect(clientKey);
	expect((await poolEnvironment(hub, 'pool:gpu').run(['printf', 'here'])).stdout.text).toBe('here');
	expect(DEFAULT_POOL_WAIT_MS).toBeGreaterThan(PENDING_PICK_MS);
});

test('a client that waits gets the slot when the one before it leaves', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1', {slots: 1});
	const first = poolEnvironment(hub, 'pool:gpu');
	await first.member();
	await untilUsed(hub, 'gpu-1', 1);
	const second = poolEnvironment(hub, 'pool:gpu', {poolWaitMs: 60_000});
	const placed = memberOf(second);
	// It has been refused once.
	await askUntil(
		() => refusalsOf(hub, 'pool_full'),
		count => count > 0,
	);
	await first.close();
	expect(await placed).toBe('gpu-1');
});

test('a client that waits gets a machine that comes later', async () => {
	const hub = await runningHub();
	const environment = poolEnvironment(hub, 'pool:gpu', {poolWaitMs: 60_000});
	const placed = memberOf(environment);
	await askUntil(
		() => refusalsOf(hub, 'pool_empty'),
		count => count > 0,
	);
	await poolMember(hub, 'late');
	expect(await placed).toBe('late');
});

test('a process takes its slot after its client has left, and those who name the machine are not refused', async () => {
	const hub = await runningHub();
	const {slots} = await poolMember(hub, 'gpu-1', {slots: 1});
	const first = poolEnvironment(hub, 'pool:gpu');
	await first.start(['sleep', '600'], {onDisconnect: {keepFor: '10m'}});
	await first.close();
	await untilUsed(hub, 'gpu-1', 1);
	expect(slots.used).toBe(1);
	await expect(poolEnvironment(hub, 'pool:gpu', {poolWaitMs: 0}).member()).rejects.toMatchObject({code: 'POOL_FULL'});
	expect((await environmentVia(hub, 'gpu-1').run(['printf', 'by name'])).stdout.text).toBe('by name');
});

test('a client that runs several processes takes as many slots, and one while it runs none', async () => {
	const hub = await runningHub();
	const {slots} = await poolMember(hub, 'gpu-1', {slots: 8});
	const environment = poolEnvironment(hub, 'pool:gpu');
	await environment.member();
	expect(slots.used).toBe(1);
	const started = [await environment.start(['sleep', '600']), await environment.start(['sleep', '600'])];
	await untilUsed(hub, 'gpu-1', 2);
	for (const process of started) await process.terminate();
	await untilUsed(hub, 'gpu-1', 1);
	await environment.close();
	await untilUsed(hub, 'gpu-1', 0);
});

test('the executor refuses one client too many, whatever the hub believes', async () => {
	const hub = await runningHub();
	const {slots} = await poolMember(hub, 'gpu-1', {slots: 8, limit: 1});
	const first = poolEnvironment(hub, 'pool:gpu');
	await first.member();
	const placed = await clientRegistry(hub, 'pool:gpu').connect(clientKey);
	await expect(connectHarness({environmentId: 'gpu-1', keys: clientKeys, bundle: placed})).rejects.toMatchObject({
		reason: 'executor_full',
	});
	expect(slots.used).toBe(1);
	expect((await environmentVia(hub, 'gpu-1').run(['printf', 'by name'])).stdout.text).toBe('by name');
});

test('a client whom its executor refuses is sent to another one', async () => {
	const hub = await runningHub();
	// It has always room by its own words, and takes nobody.
	const liar = await poolMember(hub, 'liar', {slots: 100, limit: 0});
	await poolMember(hub, 'honest', {slots: 2});
	await environmentVia(hub, 'honest').start(['sleep', '600']);
	await untilUsed(hub, 'honest', 1);
	const placed = memberOf(poolEnvironment(hub, 'pool:gpu'));
	await eventually(() => liar.refusals > 0);
	liar.link.close();
	expect(await placed).toBe('honest');
});

test('a client cannot pass for one that named the machine', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1', {slots: 1});
	const bundle = await clientRegistry(hub, 'pool:gpu').connect(clientKey);
	expect(bundle.authorization).toMatch(/^placed\./);
	const stripped = {...bundle, authorization: bundle.authorization.slice('placed.'.length)};
	await expect(connectHarness({environmentId: 'gpu-1', keys: clientKeys, bundle: stripped})).rejects.toThrow(/reset/);
});

test('a token gets members that it is good for, and no others', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'alice-1', {slots: 8});
	await poolMember(hub, 'bob-1', {slots: 8});
	const {token} = await hub.hub.tokens.create('client', 'alice-*');
	for (let times = 0; times < 6; times++) {
		expect(await memberOf(poolEnvironment(hub, 'pool:gpu', {token}))).toBe('alice-1');
	}
	const {token: other} = await hub.hub.tokens.create('client', 'carol-*');
	await expect(poolEnvironment(hub, 'pool:gpu', {token: other, poolWaitMs: 0}).member()).rejects.toMatchObject({
		code: 'POOL_EMPTY',
	});
});

test('a machine that was stopped is not chosen, and one that leaves neither', async () => {
	const hub = await runningHub();
	const gone = await poolMember(hub, 'gone', {slots: 8});
	const leaving = await poolMember(hub, 'leaving', {slots: 8});
	await poolMember(hub, 'stays', {slots: 8});
	gone.link.close();
	leaving.slots.drain();
	await eventually(() => hub.hub.relay.findExecutor('leaving')?.load?.state === 'draining');
	await eventually(() => hub.hub.relay.findExecutor('gone') === undefined);
	for (let times = 0; times < 4; times++) {
		expect(await memberOf(poolEnvironment(hub, 'pool:gpu'))).toBe('stays');
	}
});

test('a client stays with its machine after a lost connection, although another has more room', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1', {slots: 2});
	const environment = poolEnvironment(hub, 'pool:gpu');
	const process = await environment.start(['sh', '-c', 'read line; echo "got $line"'], {stdin: true});
	await poolMember(hub, 'gpu-2', {slots: 100});
	const executor = hub.hub.relay.findExecutor('gpu-1')!;
	for (const {socket} of executor.harnesses) socket.destroy(new Error('cut'));
	await process.write('again\n');
	const {stdout} = await environment.communicate(process);
	expect(stdout.text).toBe('got again\n');
	expect(await memberOf(environment)).toBe('gpu-1');
	// It runs nothing, and keeps its slot although it has come back by name.
	await untilUsed(hub, 'gpu-1', 1);
	await environment.close();
	await untilUsed(hub, 'gpu-1', 0);
});

function areLoadsKnown(list: readonly ListedEnvironment[]): boolean {
	return list.length === 3 && list.some(({used}) => used === 1) && list.some(({state}) => state === 'draining');
}

test('the list shows pools, labels, slots and load, and selects', async () => {
	const hub = await runningHub();
	await poolMember(hub, 'gpu-1', {labels: {os: 'linux'}, slots: 3});
	const leaving = await poolMember(hub, 'gpu-2', {labels: {os: 'macos'}, pools: ['gpu', 'big']});
	await runningExecutor(hub, 'stock');
	leaving.slots.drain();
	await poolEnvironment(hub, '@os=linux').member();
	await untilUsed(hub, 'gpu-1', 1);
	await eventually(() => hub.hub.relay.findExecutor('gpu-2')?.load?.state === 'draining');
	const expected = [
		{id: 'gpu-1', pools: ['gpu'], labels: {os: 'linux'}, slots: 3, used: 1, state: 'open'},
		{id: 'gpu-2', pools: ['gpu', 'big'], labels: {os: 'macos'}, slots: 2, used: 0, state: 'draining'},
		{id: 'stock', pools: [], labels: {}, slots: null, used: null, state: null},
	];
	// Another node knows loads as of a second ago.
	const shown = (await askUntil(() => listed(hub), areLoadsKnown)).toSorted((one, other) =>
		one.id < other.id ? -1 : 1,
	);
	expect(shown).toMatchObject(expected);
	expect((await listed(hub, '?select=pool:big')).map(({id}) => id)).toEqual(['gpu-2']);
	expect((await listed(hub, '?select=@os%3Dlinux')).map(({id}) => id)).toEqual(['gpu-1']);
	const refused = await fetch(`${hub.url}/environments?select=nonsense`, {
		headers: {authorization: `Bearer ${hub.clientToken}`},
	});
	expect(refused.status).toBe(400);
});

test('what an executor offers is kept over a restart of the hub, and replaced by its next registration', async () => {
	const first = await runningHub();
	const registry = executorRegistry(first, 'gpu-1');
	const keys = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
	const {registrationId} = await registry.register(keys, undefined, {labels: {a: 'b'}, pools: ['gpu'], slots: 3});
	await first.hub.close();
	const second = await runningHub({data: first.data});
	expect(await listed(second)).toMatchObject([{id: 'gpu-1', pools: ['gpu'], labels: {a: 'b'}, slots: 3, used: null}]);
	const again = await executorRegistry(second, 'gpu-1').register(keys, undefined, {labels: {}, pools: [], slots: 1});
	expect(again.registrationId).toBe(registrationId);
	expect(await listed(second)).toMatchObject([{id: 'gpu-1', pools: [], labels: {}, slots: 1}]);
});

test('an offer or a load that cannot be read is passed by, and the executor is served all the same', async () => {
	const hub = await runningHub();
	const key = encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto)));
	for (const offer of [
		{labels: {}, pools: ['a b'], slots: 1},
		{labels: {'k=': 'v'}, pools: [], slots: 1},
		{labels: {}, pools: [], slots: 0},
		{labels: {}, pools: Array.from({length: 17}, (_, index) => `p${index}`), slots: 1},
		'text',
		null,
	]) {
		const registered = await executorRegistry(hub, 'odd').register(key, undefined, offer as never);
		expect(registered.takesLoad).toBe(false);
	}
	const executor = await scriptedExecutor(hub, 'other');
	for (const text of ['', '{', 'null', '{"longarm":1}', `{"longarm":{"used":-1,"state":"open"}}`, ' '.repeat(2000)]) {
		executor.socket.send(text);
	}
	executor.socket.send(encodeLoad({used: 7, arrivals: 0, state: 'open'}));
	await eventually(() => hub.hub.relay.findExecutor('other')?.load?.used === 7);
});

test('a stock executor is in no pool, and nothing is different for it', async () => {
	const hub = await runningHub();
	await runningExecutor(hub, 'stock');
	await expect(poolEnvironment(hub, '@os=linux', {poolWaitMs: 0}).member()).rejects.toMatchObject({code: 'POOL_EMPTY'});
	const body = JSON.stringify({
		security_profile: 'noise_hybrid_ik_v1',
		executor_public_key: encodeRelayKey(publicKeysOf(createNoiseKeys(nodeNoiseCrypto))),
	});
	const headers = {authorization: `Bearer ${hub.executorToken}`, 'content-type': 'application/json'};
	const answer = await fetch(`${hub.url}/cloud/environment/plain/register`, {method: 'POST', headers, body});
	expect(Object.keys((await answer.json()) as object).sort()).toEqual([
		'environment_id',
		'executor_registration_id',
		'security_profile',
		'url',
	]);
});

test('a burst of clients is spread over the pool before the executors have told of them', async () => {
	const hub = await runningHub();
	const members = [await poolMember(hub, 'a', {slots: 4}), await poolMember(hub, 'b', {slots: 4})];
	const clients = Array.from({length: 8}, () => poolEnvironment(hub, 'pool:gpu', {poolWaitMs: 60_000}));
	await Promise.all(clients.map(client => client.member()));
	expect(members.map(({slots}) => slots.used)).toEqual([4, 4]);
});
