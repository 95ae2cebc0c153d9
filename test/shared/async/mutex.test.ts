import {expect, test} from 'vitest';
import {Deferred} from '../../../src/shared/async/deferred.js';
import {Mutex} from '../../../src/shared/async/mutex.js';

test('work runs one piece at a time, in the order of the calls', async () => {
	const mutex = new Mutex();
	const [first, order] = [new Deferred(), [] as string[]];
	const work = (name: string, until?: Promise<void>) => async () => {
		order.push(`${name} begins`);
		await until;
		order.push(`${name} ends`);
		return name;
	};
	const all = Promise.all([mutex.run(work('a', first.promise)), mutex.run(work('b')), mutex.run(work('c'))]);
	expect(mutex.isLocked).toBe(true);
	first.resolve();
	expect(await all).toEqual(['a', 'b', 'c']);
	expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
	expect(mutex.isLocked).toBe(false);
});

test('a failure reaches its caller and does not stop the next', async () => {
	const mutex = new Mutex();
	const failed = mutex.run(() => Promise.reject(new Error('no')));
	const next = mutex.run(() => 'yes');
	await expect(failed).rejects.toThrow('no');
	expect(await next).toBe('yes');
});
