// covers: src/environments/remote/hub-target.ts, src/environments/environment-manager.ts
import {expect, onTestFinished, test} from 'vitest';
import {EnvironmentManager} from '../../src/environments/environment-manager.js';
import {findHubTarget} from '../../src/environments/remote/hub-target.js';
import type {RemoteTarget} from '../../src/environments/remote/remote-target.js';
import {runningHub} from '../helpers/hubs.js';
import {poolMember} from '../helpers/pool-members.js';

const one: RemoteTarget = {
	kind: 'registry',
	url: 'registry+https://one.example/devbox',
	token: 't1',
	executorKey: 'any',
};
const same: RemoteTarget = {
	kind: 'registry',
	url: 'registry+https://one.example/pool:gpu',
	token: 't2',
	executorKey: `sha256:${'0'.repeat(64)}`,
	resumeSessionId: 's',
};
const two: RemoteTarget = {kind: 'registry', url: 'registry+https://two.example/sub/devbox'};
const plain: RemoteTarget = {kind: 'websocket', url: 'ws://127.0.0.1:1'};

function find(given: string, entries: Record<string, RemoteTarget>): ReturnType<typeof findHubTarget> {
	return findHubTarget(given, new Map(Object.entries(entries)));
}

test('a selector goes to the only hub, with what its first environment knows of it', () => {
	expect(find('pool:gpu', {plain, one})).toEqual({
		name: 'one/pool:gpu',
		target: {...one, url: 'registry+https://one.example/pool:gpu', executorKey: 'any', resumeSessionId: undefined},
		isPool: true,
	});
	expect(find('@path=a/b', {two})?.target.url).toBe('registry+https://two.example/sub/@path=a%2Fb');
});

test('of several environments of one hub a pool is named after its own, else after one of a pool', () => {
	const big: RemoteTarget = {...same, url: 'registry+https://one.example/pool:big', token: 't3'};
	expect(find('pool:gpu', {one, big, same})).toMatchObject({name: 'same/pool:gpu', target: {token: 't2'}});
	expect(find('pool:big', {one, same, big})).toMatchObject({name: 'big/pool:big', target: {token: 't3'}});
	expect(find('@os=linux', {one, same, big})).toMatchObject({name: 'same/@os=linux', target: {token: 't2'}});
});

test('a name in front leads to the hub of that environment, and neither its pin nor its session goes along', () => {
	expect(find('same/pool:big+os=linux', {one, same, two})).toMatchObject({
		name: 'same/pool:big+os=linux',
		target: {url: 'registry+https://one.example/pool:big+os=linux', token: 't2', executorKey: undefined},
		isPool: true,
	});
	expect(find('same/gpu-1', {one, same, two})).toMatchObject({
		name: 'same/gpu-1',
		target: {url: 'registry+https://one.example/gpu-1', resumeSessionId: undefined},
		isPool: false,
	});
});

test.each(['gpu', '/gpu', 'other/gpu-1', ''])('%j is nothing at a hub', given => {
	expect(find(given, {one})).toBeUndefined();
});

test.each<[string, Record<string, RemoteTarget>, RegExp]>([
	['pool:gpu', {plain}, /`pool:gpu` is about a hub, and none is known: name a hub with longarm env add/],
	['pool:gpu', {one, two}, /there are several hubs; say one\/pool:gpu or two\/pool:gpu/],
	['pool:a b', {one}, /`pool:a b` selects nothing; expected pool:NAME/],
	['@a', {one}, /`@a` selects nothing/],
	['plain/pool:gpu', {plain, one}, /the environment `plain` is not reached through a hub/],
	['one/a b', {one}, /`a b` is no machine of a hub/],
])('%j is refused', (given, entries, text) => {
	expect(() => find(given, entries)).toThrow(text);
});

test('a manager places commands on machines of its hub, and loading it takes no slot', async () => {
	const hub = await runningHub();
	const {slots} = await poolMember(hub, 'gpu-1', {slots: 1});
	const url = `registry+${hub.url}/pool:gpu`;
	const target: RemoteTarget = {kind: 'registry', url, token: hub.clientToken, executorKey: 'any'};
	const manager = new EnvironmentManager({
		defaultId: undefined,
		includesLocal: false,
		remotes: new Map([['lab', target]]),
	});
	onTestFinished(() => manager.close());
	expect(await manager.status('lab')).toEqual({kind: 'pending'});
	const placed = manager.place('pool:gpu');
	expect((await placed.run(['printf', 'hi'])).stdout.text).toBe('hi');
	expect([placed.id, await placed.member(), slots.used]).toEqual(['lab/pool:gpu', `registry+${hub.url}/gpu-1`, 1]);
	await expect(manager.place('lab/pool:gpu', {waitMs: 1}).member()).rejects.toMatchObject({code: 'POOL_FULL'});
	expect((await manager.place('lab/gpu-1').run(['printf', 'by name'])).stdout.text).toBe('by name');
	expect(() => manager.place('elsewhere')).toThrow('unknown environment `elsewhere`');
});
