import {describe, expect, test} from 'vitest';
import {decodeTurnCompleted} from '../../src/index.js';

function completed(status: unknown, changes: object = {}): object {
	return {
		jsonrpc: '2.0',
		method: 'turn/completed',
		params: {threadId: 'thread', turn: {id: 'turn', items: [], status, error: null, ...changes}},
	};
}

describe('the typed completion of a turn', () => {
	test.each([
		['completed', {kind: 'completed'}],
		['failed', {kind: 'failed', message: undefined}],
		['interrupted', {kind: 'aborted', reason: 'interrupted'}],
		['inProgress', undefined],
		['something new', undefined],
		[undefined, undefined],
	])('with status %s is decoded by the table', (status, expected) => {
		expect(decodeTurnCompleted(completed(status), 'thread', 'turn')).toEqual(expected);
	});

	test('brings the reason of a failure', () => {
		const failed = completed('failed', {error: {message: 'no quota', codexErrorInfo: null}});
		expect(decodeTurnCompleted(failed, 'thread', 'turn')).toEqual({kind: 'failed', message: 'no quota'});
	});

	test('of another thread or another turn is ignored, whatever its status', () => {
		for (const status of ['completed', 'failed', 'interrupted', 'inProgress']) {
			expect(decodeTurnCompleted(completed(status), 'other', 'turn')).toBeUndefined();
			expect(decodeTurnCompleted(completed(status), 'thread', 'other')).toBeUndefined();
		}
	});

	test('is no other notification, and nothing of another shape', () => {
		const {params} = completed('completed') as {params: object};
		for (const method of ['turn/started', 'thread/closed', 'shutdown/complete', 'turn/completed/x', undefined]) {
			expect(decodeTurnCompleted({method, params}, 'thread', 'turn')).toBeUndefined();
		}
		for (const other of [null, undefined, 'turn/completed', 7, [], {method: 'turn/completed'}, {params}]) {
			expect(decodeTurnCompleted(other, 'thread', 'turn')).toBeUndefined();
		}
		expect(
			decodeTurnCompleted({method: 'turn/completed', params: {threadId: 'thread', turn: null}}, 'thread', 'turn'),
		).toBeUndefined();
	});
});
