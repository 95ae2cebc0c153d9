import {expect, test} from 'vitest';
import {MAX_RUNNING_SEARCHES, MAX_SEARCH_THREADS, SearchQueue} from '../../../src/filesystem/search/search-queue.js';

function tracked() {
	const queue = new SearchQueue();
	const order: string[] = [];
	const enter = (owner: object, name: string): (() => void) => queue.enter(owner, () => order.push(name));
	return {order, enter};
}

test('an owner alone has as many searches running as there are slots, and the rest in order', () => {
	const {order, enter} = tracked();
	const owner = {};
	const leaves = ['a', 'b', 'c', 'd'].map(name => enter(owner, name));
	expect(order).toEqual(['a', 'b'].slice(0, MAX_RUNNING_SEARCHES));
	leaves[0]!();
	leaves[1]!();
	expect(order).toEqual(['a', 'b', 'c', 'd']);
});

test('a search of another owner runs at once, however many the first has running and waiting', () => {
	const {order, enter} = tracked();
	const first = {};
	for (let count = 0; count < 16; count++) enter(first, 'first');
	enter({}, 'second');
	enter({}, 'third');
	expect(order).toEqual(['first', 'first', 'second', 'third']);
});

test('while others wait an owner has one search running at most, and turns are round robin', () => {
	const {order, enter} = tracked();
	const owners = Array.from({length: MAX_SEARCH_THREADS}, () => ({}));
	const running = owners.map((owner, index) => enter(owner, `${index}`));
	const [late, later] = [{}, {}];
	for (const name of ['a', 'b']) enter(late, name);
	for (const name of ['x', 'y']) enter(later, name);
	enter(owners[0]!, 'again');
	order.length = 0;
	running[1]!();
	running[2]!();
	expect(order).toEqual(['a', 'x']);
	running[0]!();
	expect(order).toEqual(['a', 'x', 'again']);
});

test('a search that leaves the queue is never started, and lets go at once of what stood behind it', () => {
	const {order, enter} = tracked();
	const owners = Array.from({length: MAX_SEARCH_THREADS}, () => ({}));
	const running = owners.map((owner, index) => enter(owner, `${index}`));
	const left = enter({}, 'left');
	enter({}, 'next');
	left();
	left();
	running[0]!();
	running[0]!();
	expect(order.slice(MAX_SEARCH_THREADS)).toEqual(['next']);
});

test('a search that cannot be started frees its slot', () => {
	const {order, enter} = tracked();
	const queue = new SearchQueue();
	const owner = {};
	for (let count = 0; count < 10; count++) {
		expect(() =>
			queue.enter(owner, () => {
				throw new Error('no thread');
			}),
		).toThrow('no thread');
	}
	queue.enter(owner, () => order.push('started'));
	enter(owner, 'other queue');
	expect(order).toEqual(['started', 'other queue']);
});
