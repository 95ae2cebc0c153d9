import {setImmediate} from 'node:timers/promises';
import {expect, test} from 'vitest';
import {currentTick} from '../../../src/processes/backends/event-loop-tick.js';

test('a turn has one number however often it is asked for, and the next has another', async () => {
	const seen: number[] = [];
	for (let round = 0; round < 3; round++) {
		const turn = currentTick();
		await Promise.resolve();
		expect(currentTick()).toBe(turn);
		seen.push(turn);
		await setImmediate();
	}
	expect(new Set(seen).size).toBe(3);
});
