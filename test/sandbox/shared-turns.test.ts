import {expect, test} from 'vitest';
import {SharedTurns} from '../../src/shared/node/shared-turns.js';

test('however many tasks there are, one of them has each turn of the event loop, in their order', async () => {
	const turns = new SharedTurns();
	let turn = 0;
	let isRunning = true;
	const count = (): void => {
		turn++;
		if (isRunning) setImmediate(count);
	};
	setImmediate(count);
	const slices: {task: number; turn: number}[] = [];
	const work = async (task: number): Promise<void> => {
		for (let slice = 0; slice < 3; slice++) {
			await turns.next();
			slices.push({task, turn});
		}
	};
	await Promise.all([0, 1, 2, 3].map(work));
	isRunning = false;
	expect(slices.map(({task}) => task)).toEqual([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
	expect(new Set(slices.map(slice => slice.turn)).size).toBe(slices.length);
});

test('a slice is over after its time, whoever waits', async () => {
	const turns = new SharedTurns();
	expect(turns.isOver).toBe(true);
	await turns.next();
	while (!turns.isOver);
	expect(turns.isOver).toBe(true);
});
