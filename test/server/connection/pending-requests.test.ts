import {expect, test} from 'vitest';
import type {RequestId} from '../../../src/protocol/wire/envelope.js';
import {
	MAX_PENDING_REQUESTS,
	MAX_WAITING_REQUESTS,
	MAX_WAITING_REQUESTS_PER_TOKEN,
	PendingRequests,
	WaitingRequests,
} from '../../../src/server/connection/pending-requests.js';
import {Deferred} from '../../../src/shared/async/deferred.js';
import {waitTicks} from '../../helpers/ticks.js';

/** Length of the pending requests of one connection. */
const MAX_LENGTH = 1000;

function pendingRequests(waiting = new WaitingRequests(), token?: string) {
	let holds = 0;
	const pending = new PendingRequests({
		token,
		account: token,
		waiting,
		holdReading: () => {
			holds++;
			return () => holds--;
		},
		maxLength: () => MAX_LENGTH,
	});
	const run = (method: string, result: unknown, params?: unknown, id: RequestId = 1, length = 0): unknown =>
		pending.run({kind: 'request', id, method, params, trace: undefined}, length, () => result);
	return {pending, run, isHeld: () => holds > 0};
}

function fill(run: (method: string, result: unknown) => unknown, method: string, count: number): Deferred {
	const held = new Deferred();
	for (let index = 0; index < count; index++) run(method, held.promise);
	return held;
}

test('beyond the bound ordinary requests stop the reading, until enough of them are answered', async () => {
	const {run, isHeld} = pendingRequests();
	const held = fill(run, 'fs/getMetadata', MAX_PENDING_REQUESTS);
	expect(isHeld()).toBe(false);
	const one = new Deferred();
	run('fs/getMetadata', one.promise);
	expect(isHeld()).toBe(true);
	one.resolve();
	await waitTicks();
	expect(isHeld()).toBe(false);
	held.resolve();
});

test('requests that are long together stop the reading, and a single one that is longer does not', async () => {
	const {run, isHeld} = pendingRequests();
	const [long, short] = [new Deferred(), new Deferred()];
	run('fs/walk', long.promise, {}, 1, MAX_LENGTH + 1);
	expect(isHeld()).toBe(false);
	run('fs/walk', short.promise, {}, 2, 1);
	expect(isHeld()).toBe(true);
	long.resolve();
	await waitTicks();
	expect(isHeld()).toBe(false);
	short.resolve();
});

test.each([
	['process/wait', {}],
	['process/waitFor', {}],
	['process/logs', {waitMs: 1}],
	['process/read', {waitMs: 1}],
	['process/write', {}],
	['forward/read', {}],
	['http/request', {}],
])('beyond the bound %s is refused, and all that ends it is still taken', async (method, params) => {
	const {run, isHeld} = pendingRequests();
	const held = fill(run, 'process/wait', MAX_WAITING_REQUESTS);
	expect(() => run(method, Promise.resolve(), params)).toThrow(
		expect.objectContaining({code: 'REQUEST_LIMIT', context: {limit: MAX_WAITING_REQUESTS}}),
	);
	for (const control of ['process/terminate', 'process/signal', 'process/start', 'http/cancel', 'forward/close']) {
		expect(run(control, 'done')).toBe('done');
	}
	expect(run('process/read', 'page', {waitMs: 0})).toBe('page');
	expect(isHeld()).toBe(false);
	held.resolve();
	await waitTicks();
	expect(run(method, 'done', params)).toBe('done');
});

test('the connections of one token count together, and a closed one no longer', () => {
	const waiting = new WaitingRequests();
	const connections = Array.from({length: 3}, () => pendingRequests(waiting, 'ci'));
	for (const {run} of connections.slice(1)) fill(run, 'process/wait', MAX_WAITING_REQUESTS_PER_TOKEN / 2);
	const another = () => connections[0]!.run('process/wait', Promise.resolve());
	expect(another).toThrow(expect.objectContaining({code: 'REQUEST_LIMIT'}));
	expect(pendingRequests(waiting, 'other').run('process/wait', 'done')).toBe('done');
	connections[1]!.pending.close();
	expect(another).not.toThrow();
	connections[2]!.pending.close();
});

test('a request that waits under a long id counts by its length: the id is kept for the reply', () => {
	const {run} = pendingRequests();
	const id = 'i'.repeat(1024 * (MAX_WAITING_REQUESTS - 1));
	run('process/wait', new Promise(() => {}), {}, id);
	expect(() => run('process/wait', Promise.resolve())).toThrow(expect.objectContaining({code: 'REQUEST_LIMIT'}));
});
