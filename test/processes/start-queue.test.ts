import {setImmediate} from 'node:timers/promises';
import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {StartQueue} from '../../src/processes/start-queue.js';

/** A queue whose clock stands still except for `work`. */
class Clocked extends StartQueue {
	readonly #clock: {ms: number};

	constructor(clock = {ms: 0}) {
		super(() => clock.ms);
		this.#clock = clock;
	}

	/** Takes longer than the queue may spend in one tick of the event loop. */
	readonly work = (): void => {
		this.#clock.ms += 5;
	};
}

/** A queue that spent its time in this turn already. */
function busyQueue(): Clocked {
	const queue = new Clocked();
	queue.run({}, queue.work);
	return queue;
}

test('without a clock of its own it goes by that of the machine', () => {
	const queue = new StartQueue();
	const began = performance.now();
	const ran: string[] = [];
	queue.run({}, () => {
		while (performance.now() < began + 5);
	});
	queue.run({}, () => ran.push('waited'));
	expect(ran).toEqual([]);
});

test('the first start of a tick runs at once, those behind it when the requests of this tick were read', async () => {
	const queue = new Clocked();
	const ran: string[] = [];
	queue.run({}, () => ran.push('first'));
	queue.run({}, () => ran.push('second'));
	expect(ran).toEqual(['first']);
	await setImmediate();
	expect(ran).toEqual(['first', 'second']);
});

test('a start waits when the time of this turn is spent, and runs at once again in a later one', async () => {
	const queue = busyQueue();
	const ran: string[] = [];
	queue.run({}, () => ran.push('waited'));
	expect(ran).toEqual([]);
	await setImmediate();
	expect(ran).toEqual(['waited']);
	await setImmediate();
	queue.run({}, () => ran.push('at once'));
	expect(ran).toEqual(['waited', 'at once']);
});

test('a burst is spread over ticks of the event loop, and other work gets its chance in each', async () => {
	const queue = new Clocked();
	const story: string[] = [];
	for (const name of ['a', 'b', 'c', 'd', 'e']) {
		queue.run(queue, () => {
			story.push(name);
			queue.work();
		});
	}
	while (!story.includes('e')) {
		await setImmediate();
		story.push('other work');
	}
	// The first runs at once and one in every turn after it; a turn's other work comes after its start.
	const other = 'other work';
	expect(story).toEqual(['a', 'b', other, 'c', other, 'd', other, 'e', other]);
});

describe('when starts wait', () => {
	test('owners take turns and each keeps its order', async () => {
		const owners = [{}, {}, {}, {}];
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat(owners.length - 1), {maxLength: 30}), async lanes => {
				const queue = busyQueue();
				const ran: string[] = [];
				const waiting = new Map<number, string[]>();
				for (const [index, lane] of lanes.entries()) {
					const name = `${index} of ${lane}`;
					waiting.set(lane, [...(waiting.get(lane) ?? []), name]);
					queue.run(owners[lane]!, () => ran.push(name));
				}
				while (ran.length < lanes.length) await setImmediate();
				expect(ran).toEqual(inTurns([...waiting.values()]));
			}),
			{numRuns: 50},
		);
	});

	test('a start that comes while they are served goes behind them, although there is time', async () => {
		const queue = busyQueue();
		const ran: string[] = [];
		const owner = {};
		queue.run(owner, () => {
			ran.push('first');
			queue.run(owner, () => ran.push('third'));
		});
		queue.run(owner, () => ran.push('second'));
		while (ran.length < 3) await setImmediate();
		expect(ran).toEqual(['first', 'second', 'third']);
	});
});

/** One of each as long as there are any, in the order in which they came to stand in line. */
function inTurns(lanes: readonly (readonly string[])[]): string[] {
	const longest = Math.max(0, ...lanes.map(lane => lane.length));
	return Array.from({length: longest}, (_, round) => lanes.flatMap(lane => lane.slice(round, round + 1))).flat();
}
