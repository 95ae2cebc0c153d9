// covers: src/rpc/rpc-connection.ts (own requests)
import {getEventListeners} from 'node:events';
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {RpcError} from '../../src/protocol/wire/error-codes.js';
import {MAX_ERROR_CHARS} from '../../src/rpc/rpc-connection.js';
import {waitTicks} from '../helpers/ticks.js';
import {failureOf} from '../helpers/waiting.js';
import {linked} from './linked.js';

test('a call sends its method and params under a fresh id and settles with the result', async () => {
	const {connection, peer} = linked('client');
	const first = connection.request('environment/status', null);
	const second = connection.request('process/terminate', {processId: 'p'});
	expect(await peer.next()).toEqual({id: 1, method: 'environment/status', params: null});
	expect(await peer.next()).toEqual({id: 2, method: 'process/terminate', params: {processId: 'p'}});
	peer.send({id: 2, result: {running: true}});
	peer.send({id: 1, result: null});
	expect(await second).toEqual({running: true});
	expect(await first).toBeNull();
});

test('a call carries its trace context', async () => {
	const {connection, peer} = linked('client');
	const trace = {traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: null};
	connection.request('m', {}, {trace}).catch(() => {});
	expect(await peer.next()).toEqual({id: 1, method: 'm', params: {}, trace});
});

test('an error reply rejects with its code, message and data', async () => {
	const {connection, peer} = linked('client');
	const call = connection.request('m', {});
	peer.send({id: 1, error: {code: -32010, message: 'taken', data: {by: 'another'}}});
	const error = await call.catch((reason: unknown) => reason as RpcError);
	expect(error).toBeInstanceOf(RpcError);
	expect(error).toMatchObject({code: -32010, message: 'taken', data: {by: 'another'}});
});

test('replies in any order, some of them errors, reach the calls they belong to', async () => {
	const order = fc
		.array(fc.boolean(), {minLength: 1, maxLength: 40})
		.chain(fails =>
			fc.tuple(
				fc.constant(fails),
				fc.shuffledSubarray([...fails.keys()], {minLength: fails.length, maxLength: fails.length}),
			),
		);
	await fc.assert(
		fc.asyncProperty(order, async ([fails, sequence]) => {
			const {connection, peer} = linked('client');
			const calls = fails.map((_, index) => connection.request('m', {index}));
			for (const index of sequence) {
				const id = index + 1;
				peer.send(fails[index] ? {id, error: {code: -1, message: `e${index}`}} : {id, result: `r${index}`});
			}
			const outcomes = await Promise.allSettled(calls);
			const seen = outcomes.map(each => (each.status === 'fulfilled' ? each.value : (each.reason as Error).message));
			expect(seen).toEqual(fails.map((failed, index) => `${failed ? 'e' : 'r'}${index}`));
		}),
		{numRuns: 50},
	);
});

test('both ends may use the same id at the same time', async () => {
	const {connection, peer} = linked('client', {request: ({params}) => ({echoed: params})});
	const call = connection.request('ours', {});
	expect(await peer.next()).toEqual({id: 1, method: 'ours', params: {}});
	expect(await peer.ask({id: 1, method: 'theirs', params: [7]})).toEqual({id: 1, result: {echoed: [7]}});
	peer.send({id: 1, result: 'ours'});
	expect(await call).toBe('ours');
});

test('a notification sent before a reply is handled before the call settles', async () => {
	const seen: string[] = [];
	const {connection, peer} = linked('client', {
		notification: ({method}) => {
			seen.push(method);
			return true;
		},
	});
	const call = connection.request('process/start', {}).then(() => seen.push('reply'));
	peer.send({method: 'process/output', params: {}});
	peer.send({id: 1, result: {}});
	await call;
	expect(seen).toEqual(['process/output', 'reply']);
});

test('an aborted call rejects with the reason, and its late reply disturbs nothing', async () => {
	const {connection, peer} = linked('client');
	const controller = new AbortController();
	const call = connection.request('m', {}, {signal: controller.signal});
	await peer.next();
	const reason = new Error('no longer wanted');
	controller.abort(reason);
	await expect(call).rejects.toBe(reason);
	peer.send({id: 1, result: 'late'});
	const next = connection.request('m', {});
	peer.send({id: 2, result: 'in time'});
	expect(await next).toBe('in time');
	expect(connection.isClosed).toBe(false);
});

test('a call whose signal is aborted already sends nothing and uses up no id', async () => {
	const {connection, peer} = linked('client');
	const call = connection.request('never', {}, {signal: AbortSignal.abort('too late')});
	await expect(call).rejects.toMatchObject({message: 'the call was aborted', cause: 'too late'});
	connection.request('sent', {}).catch(() => {});
	expect(await peer.next()).toEqual({id: 1, method: 'sent', params: {}});
});

test.each([
	['a result', {id: 1, result: 'done'}],
	['an error', {id: 1, error: {code: -1, message: 'failed'}}],
])('a call that ended with %s lets go of its signal', async (_, reply) => {
	const {connection, peer} = linked('client');
	const {signal} = new AbortController();
	const call = connection.request('m', {}, {signal});
	expect(getEventListeners(signal, 'abort')).toHaveLength(1);
	peer.send(reply);
	await Promise.allSettled([call]);
	expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('params that JSON cannot carry reject the call, send nothing and leave nothing pending', async () => {
	const {connection, peer} = linked('client');
	const {signal} = new AbortController();
	await expect(connection.request('m', {size: 1n}, {signal})).rejects.toThrow(TypeError);
	expect(getEventListeners(signal, 'abort')).toEqual([]);
	await waitTicks();
	expect(peer.texts).toEqual([]);
});

test('a client ignores replies to calls it never made', async () => {
	const {connection, peer} = linked('client');
	const call = connection.request('m', {});
	for (const id of ['1', 7, -1, 0]) peer.send({id, result: 'stray'});
	peer.send('{"id":9007199254740993,"error":{"code":-1,"message":"stray"}}');
	peer.send({id: 1, result: 'own'});
	expect(await call).toBe('own');
	expect(connection.isClosed).toBe(false);
});

test.each([
	['a result', {id: 7, result: {}}],
	['an error', {id: 7, error: {code: -1, message: 'x'}}],
	['id -1', {id: -1, result: {}}],
	['id 0', {id: 0, result: {}}],
	['a string id', {id: '1', result: {}}],
])('a server hangs up on a reply nobody asked for: %s', async (_, reply) => {
	const {connection, peer} = linked('server');
	connection.request('network/policyRequest', {}).catch(() => {});
	await peer.next();
	peer.send(reply);
	await peer.untilClosed();
	expect(connection.isClosed).toBe(true);
	expect(peer.texts).toHaveLength(1);
});

test('a server lets a second and a late reply to its own requests pass', async () => {
	const {connection, peer} = linked('server', {request: () => 'still here'});
	const controller = new AbortController();
	const answered = connection.request('a', {});
	const aborted = connection.request('b', {}, {signal: controller.signal});
	controller.abort();
	await expect(aborted).rejects.toThrow('This operation was aborted');
	for (const id of [1, 1, 2]) peer.send({id, result: 'x'});
	expect(await answered).toBe('x');
	await peer.next();
	await peer.next();
	expect(await peer.ask({id: 'q', method: 'm'})).toEqual({id: 'q', result: 'still here'});
});

test('the text of an error is taken in part from a peer that sends megabytes of it', async () => {
	const {connection, peer} = linked('client');
	const call = connection.request('environment/status', null);
	const {id} = (await peer.next()) as {id: number};
	peer.send({id, error: {code: -32000, message: 'x'.repeat(1024 * 1024)}});
	const error = await failureOf(call);
	expect((error as Error).message).toHaveLength(MAX_ERROR_CHARS);
});
