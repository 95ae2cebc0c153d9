import {expect, test} from 'vitest';
import type {Request} from '../../../src/protocol/wire/envelope.js';
import {INVALID_REQUEST, RpcError} from '../../../src/protocol/wire/error-codes.js';
import {createRouter, type Handlers} from '../../../src/server/connection/dispatch.js';

interface Caller {
	readonly name: string;
}

const CALLER: Caller = {name: 'tester'};

function request(method: string, params?: unknown): Request {
	return {kind: 'request', id: 1, method, params, trace: undefined};
}

function router(handlers: Handlers<Caller>, admitted: string[] = []) {
	return createRouter<Caller>(handlers, family => void admitted.push(family));
}

function outcome(run: () => unknown): unknown {
	try {
		return run();
	} catch (error) {
		const {code, message} = error as RpcError;
		return {code, message};
	}
}

test('a handler gets its params decoded with defaults, and the caller', () => {
	const seen: unknown[] = [];
	const route = router({
		'process/read': (params, caller) => {
			seen.push(params, caller);
			return {chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false, failure: null};
		},
	});
	route(request('process/read', {processId: 'p', unknownMember: true}), CALLER);
	expect(seen).toEqual([{processId: 'p', afterSeq: 0, maxBytes: undefined, waitMs: 0}, CALLER]);
});

test('what a handler returns or throws is passed on untouched', async () => {
	const promise = Promise.resolve({running: true});
	const failure = new Error('from the handler');
	const route = router({
		'process/terminate': ({processId}) => {
			if (processId === 'bad') throw failure;
			return promise;
		},
	});
	expect(route(request('process/terminate', {processId: 'good'}), CALLER)).toBe(promise);
	expect(() => route(request('process/terminate', {processId: 'bad'}), CALLER)).toThrow(failure);
	await promise;
});

test.each([
	['a name nobody knows', 'no/such'],
	['a method of the table without a handler', 'environment/info'],
	['a notification', 'initialized'],
	['a request that only servers send', 'network/policyDecision'],
	['the empty name', ''],
	['a name in another case', 'Process/Terminate'],
	['a member of Object.prototype', 'constructor'],
	['the prototype itself', '__proto__'],
])('%s is answered with -32601', (_, method) => {
	expect(outcome(() => router({})(request(method), CALLER))).toEqual({
		code: -32601,
		message: `exec-server stub does not implement \`${method}\` yet`,
	});
});

test('params are decoded before the caller is looked at', () => {
	const refuse = createRouter<Caller>({'process/terminate': () => ({running: false})}, family => {
		throw new RpcError(INVALID_REQUEST, `not before the handshake: ${family}`);
	});
	expect(outcome(() => refuse(request('process/terminate', {}), CALLER))).toEqual({
		code: -32602,
		message: 'missing field `processId`',
	});
	expect(outcome(() => refuse(request('process/terminate', {processId: 'p'}), CALLER))).toEqual({
		code: -32600,
		message: 'not before the handshake: exec',
	});
});

test('every method but those of the handshake asks for admission under the name of its family', () => {
	const admitted: string[] = [];
	const route = router(
		{
			initialize: () => ({sessionId: 's'}),
			'environment/info': () => ({shell: {name: 'sh', path: '/bin/sh'}}),
			'environment/status': () => ({status: 'ready'}),
			'process/terminate': () => ({running: false}),
		},
		admitted,
	);
	route(request('initialize', {clientName: 'c'}), CALLER);
	expect(admitted).toEqual([]);
	route(request('environment/info'), CALLER);
	route(request('environment/status', null), CALLER);
	route(request('process/terminate', {processId: 'p'}), CALLER);
	expect(admitted).toEqual(['environment info', 'environment status', 'exec']);
});

test('the family is checked before it turns out that nobody serves the method', () => {
	const admitted: string[] = [];
	expect(outcome(() => router({}, admitted)(request('environment/status'), CALLER))).toMatchObject({code: -32601});
	expect(admitted).toEqual(['environment status']);
});
