import {expect, onTestFinished, test, vi} from 'vitest';
import {BufferPool} from '../../../src/shared/node/buffer-pool.js';

test('a block that was given back is taken again, and never by two at once', () => {
	const pool = new BufferPool(100, 8);
	const [first, second] = [pool.take(), pool.take()];
	expect([first.length, second.length, first === second]).toEqual([100, 100, false]);
	pool.give(first);
	expect(pool.take()).toBe(first);
	expect([first, second]).not.toContain(pool.take());
});

test('no more than the most unused blocks are kept', () => {
	const pool = new BufferPool(10, 2);
	const given = [pool.take(), pool.take(), pool.take()];
	for (const block of given) pool.give(block);
	const taken = [pool.take(), pool.take(), pool.take()];
	expect(taken.filter(block => given.includes(block)).length).toBe(2);
});

test('blocks that were needed for a moment only are given up a little later', () => {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const pool = new BufferPool(10, 4, 1);
	const given = [pool.take(), pool.take(), pool.take()];
	for (const block of given) pool.give(block);
	vi.runAllTimers();
	const taken = [pool.take(), pool.take(), pool.take()];
	expect(taken.filter(block => given.includes(block)).length).toBe(1);
});
