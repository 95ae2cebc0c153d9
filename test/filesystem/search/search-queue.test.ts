import {expect, test, vi} from 'vitest';
import {
	MAX_HELD_MS,
	MAX_RUNNING_SEARCHES,
	MAX_SEARCH_THREADS,
	type SearchOwner,
	SearchQueue,
} from '../../../src/filesystem/search/search-queue.js';
import {stopClock} from '../../helpers/clock.js';

function tracked() {
	const queue = new SearchQueue();
	const order: string[] = [];
	const givenUp: string[] = [];
	const enterAs = (owner: SearchOwner, name: string): (() => void) => {
		const leave = queue.enter(owner, {
			start: () => order.push(name),
			giveUp: () => {
				givenUp.push(name);
				leave();
			},
		});
		return leave;
	};
	const enter = (owner: object, name: string): (() => void) => enterAs(alone(owner), name);
	return {order, givenUp, enter, enterAs};
}

/** A connection without a token. */
function alone(connection: object): SearchOwner {
	return {account: connection, connection};
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
			queue.enter(alone(owner), {
				start: () => {
					throw new Error('no thread');
				},
				giveUp: () => {},
			}),
		).toThrow('no thread');
	}
	queue.enter(alone(owner), {start: () => order.push('started'), giveUp: () => {}});
	enter(owner, 'other queue');
	expect(order).toEqual(['started', 'other queue']);
});

test('connections of one token share what one account gets, in turns', () => {
	const {order, enterAs} = tracked();
	const connections = Array.from({length: 8}, (_, index) => ({account: 'ci', connection: {}, name: `ci${index}`}));
	const running = connections.flatMap(owner => [enterAs(owner, owner.name), enterAs(owner, `${owner.name} again`)]);
	expect(order).toEqual(['ci0', 'ci0 again']);
	enterAs({account: 'other', connection: {}}, 'other');
	expect(order.at(-1)).toBe('other');
	// While the other runs, the token keeps one thread, which goes from connection to connection.
	for (const leave of running.slice(0, 3)) leave();
	expect(order.slice(3)).toEqual(['ci1', 'ci2']);
});

test('a search that runs long has to go when an account without one waits, the longest first', () => {
	stopClock();
	const {order, givenUp, enter} = tracked();
	for (let index = 0; index < MAX_SEARCH_THREADS; index++) {
		enter({}, `long ${index}`);
		vi.advanceTimersByTime(1000);
	}
	enter({}, 'fifth');
	vi.advanceTimersByTime(MAX_HELD_MS - MAX_SEARCH_THREADS * 1000 - 1);
	expect(givenUp).toEqual([]);
	vi.advanceTimersByTime(1);
	expect(givenUp).toEqual(['long 0']);
	expect(order.at(-1)).toBe('fifth');
	vi.advanceTimersByTime(MAX_HELD_MS * 2);
	expect(givenUp).toEqual(['long 0']);
	enter({}, 'sixth');
	vi.advanceTimersByTime(0);
	expect(givenUp).toEqual(['long 0', 'long 1']);
	expect(order.at(-1)).toBe('sixth');
});

test('a search that runs long stays as long as only accounts wait that have one themselves', () => {
	stopClock();
	const {givenUp, enter} = tracked();
	const owners = [{}, {}, {}, {}];
	for (const owner of owners) enter(owner, 'long');
	for (const owner of owners) enter(owner, 'more');
	const left = enter({}, 'left');
	left();
	vi.advanceTimersByTime(MAX_HELD_MS * 10);
	expect(givenUp).toEqual([]);
});
