import {expect, test} from 'vitest';
import {Deferred} from '../../../src/shared/async/deferred.js';

test('a deferred resolves from outside, and only once', async () => {
	const deferred = new Deferred<number>();
	deferred.resolve(1);
	deferred.resolve(2);
	deferred.reject(new Error('too late'));
	expect(await deferred.promise).toBe(1);
});

test('a deferred rejects from outside', async () => {
	const deferred = new Deferred();
	deferred.reject(new Error('no'));
	await expect(deferred.promise).rejects.toThrow('no');
});
