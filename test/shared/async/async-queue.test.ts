import {expect, test} from 'vitest';
import {AsyncQueue} from '../../../src/shared/async/async-queue.js';

function fed(...items: readonly number[]): {feed: AsyncQueue<number>; told: string[]} {
	const told: string[] = [];
	const feed = new AsyncQueue<number>(
		() => told.push('stopped'),
		() => told.push('taken'),
	);
	feed.push(...items);
	return {feed, told};
}

const OVER = {done: true, value: undefined};

test('a feed that is left has ended, whoever asks, and nothing of it comes afterwards', async () => {
	const {feed, told} = fed(1, 2);
	expect(await feed.next()).toEqual({done: false, value: 1});
	expect(await feed.return()).toEqual(OVER);
	feed.push(3);
	expect([await feed.next(), feed.waiting]).toEqual([OVER, []]);
	feed.end();
	expect(told).toEqual(['stopped']);
});

test('a failure comes behind what was fed before it, once', async () => {
	const {feed, told} = fed(1);
	feed.fail(new Error('cut'));
	expect(await feed.next()).toEqual({done: false, value: 1});
	await expect(feed.next()).rejects.toThrow('cut');
	expect(await feed.next()).toEqual(OVER);
	expect(told).toEqual(['stopped', 'taken']);
});

test('of those who wait the first hears of a failure, the others of the end', async () => {
	const {feed} = fed();
	const waiting = [feed.next(), feed.next(), feed.next()];
	feed.push(1);
	feed.fail(new Error('cut'));
	expect(await Promise.allSettled(waiting)).toEqual([
		{status: 'fulfilled', value: {done: false, value: 1}},
		{status: 'rejected', reason: new Error('cut')},
		{status: 'fulfilled', value: OVER},
	]);
});
