// covers: src/rpc/rpc-connection.ts (close and disconnect), src/rpc/disconnected-error.ts
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {DisconnectedError} from '../../src/rpc/disconnected-error.js';
import {waitTicks} from '../helpers/ticks.js';
import {type Linked, linked} from './linked.js';

const ENDINGS: [string, (link: Linked) => void, string][] = [
	['the peer closes', ({peer}) => peer.transport.close(), 'exec-server transport disconnected'],
	['the peer vanishes', ({peer}) => peer.transport.destroy(), 'exec-server transport disconnected'],
	[
		'the link breaks',
		({near}) => near.fail(new Error('read ECONNRESET')),
		'exec-server transport disconnected: read ECONNRESET',
	],
	['this end closes', ({connection}) => connection.close(), 'exec-server transport disconnected'],
	['this end hangs up', ({connection}) => connection.destroy(), 'exec-server transport disconnected'],
];

test.each(ENDINGS)('every pending and every later call fails alike when %s', async (_, end, message) => {
	const link = linked('client');
	const pending = [link.connection.request('a', {}), link.connection.request('b', {})];
	end(link);
	const reasons = (await Promise.allSettled(pending)).map(each => (each as PromiseRejectedResult).reason as Error);
	const later = await link.connection.request('c', {}).catch((error: unknown) => error);
	for (const reason of [...reasons, later]) {
		expect(reason).toBeInstanceOf(DisconnectedError);
		expect(reason).toMatchObject({name: 'DisconnectedError', message});
	}
	expect(link.connection.isClosed).toBe(true);
});

test('whatever was answered, aborted or left open before the link broke, every call settles exactly once', async () => {
	const step = fc.record({
		kind: fc.constantFrom('call', 'reply', 'abort', 'turn'),
		target: fc.nat(20),
	});
	await fc.assert(
		fc.asyncProperty(fc.array(step, {maxLength: 40}), fc.boolean(), async (steps, clean) => {
			const {connection, peer, near} = linked('client');
			const calls: {promise: Promise<unknown>; controller: AbortController}[] = [];
			for (const {kind, target} of steps) {
				if (kind === 'call') {
					const controller = new AbortController();
					const promise = connection.request('m', {}, {signal: controller.signal});
					promise.catch(() => {});
					calls.push({promise, controller});
				} else if (kind === 'reply') {
					peer.send({id: target, result: target});
				} else if (kind === 'abort') {
					calls[target]?.controller.abort();
				} else {
					await waitTicks(1);
				}
			}
			if (clean) peer.transport.close();
			else near.fail(new Error('broken'));
			const settled = await Promise.allSettled(calls.map(({promise}) => promise));
			for (const {controller} of calls) controller.abort();
			expect(settled).toHaveLength(calls.length);
		}),
		{numRuns: 100},
	);
});

test('the service hears of the end once, with the reason', async () => {
	const endings: unknown[] = [];
	const {connection, near} = linked('server', {closed: error => endings.push(error?.message)});
	near.fail(new Error('cable cut'));
	await waitTicks();
	connection.destroy();
	connection.close();
	await waitTicks();
	expect(endings).toEqual(['cable cut']);
});

test('pending calls have been rejected by the time the service hears of the end', async () => {
	const order: string[] = [];
	const {connection, near} = linked('client', {
		closed: () => queueMicrotask(() => order.push('service')),
	});
	const call = connection.request('m', {}).catch(() => order.push('call'));
	near.fail();
	await call;
	await waitTicks(1);
	expect(order).toEqual(['call', 'service']);
});

test('a request that is still being worked on when the link ends is answered by nobody and harms nobody', async () => {
	let finish!: (value: unknown) => void;
	const failures: unknown[] = [];
	const {peer, near} = linked('server', {
		request: () => new Promise(resolve => (finish = resolve)),
		failed: error => failures.push(error),
	});
	peer.send({id: 1, method: 'slow'});
	await waitTicks();
	near.fail();
	await peer.untilClosed();
	finish('too late');
	await waitTicks();
	expect([peer.texts, failures]).toEqual([[], []]);
});

test('nothing that stands behind a reason to hang up is carried out', async () => {
	const handled: string[] = [];
	const {peer} = linked('server', {
		notification: () => false,
		request: ({method}) => handled.push(method),
	});
	peer.send({method: 'no/such'});
	peer.send({id: 1, method: 'process/start'});
	await peer.untilClosed();
	expect(handled).toEqual([]);
});

test('closing sends what was accepted first', async () => {
	const {connection, peer} = linked('server');
	connection.notify('process/output', {seq: 1});
	connection.notify('process/closed', {seq: 2});
	connection.close();
	await peer.untilClosed();
	expect(peer.received).toEqual([
		{method: 'process/output', params: {seq: 1}},
		{method: 'process/closed', params: {seq: 2}},
	]);
});

test('notifications after the end vanish', async () => {
	const {connection, peer, near} = linked('server');
	near.fail();
	await peer.untilClosed();
	connection.notify('process/output', {});
	await waitTicks();
	expect(peer.texts).toEqual([]);
});

test('a client that cannot make sense of a notification hangs up and says why', async () => {
	const link = linked('client', {
		notification: () => {
			throw new Error('no such number');
		},
	});
	const pending = link.connection.request('a', {});
	link.peer.send({method: 'process/output', params: {}});
	await expect(pending).rejects.toThrow(
		'exec-server transport disconnected: exec-server notification handling failed: no such number',
	);
	expect(link.connection.isClosed).toBe(true);
});
