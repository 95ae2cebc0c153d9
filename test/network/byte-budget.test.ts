import {expect, test} from 'vitest';
import {ByteBudget} from '../../src/network/byte-budget.js';

test('what is held stays within the bound, except that the first always fits', () => {
	const budget = new ByteBudget(10);
	expect([budget.tryReserve(6), budget.tryReserve(5), budget.tryReserve(4), budget.tryReserve(1)]).toEqual([
		true,
		false,
		true,
		false,
	]);
	budget.release(10);
	expect([budget.tryReserve(50), budget.tryReserve(1), budget.tryReserve(0)]).toEqual([true, false, true]);
	budget.release(50);
	expect(budget.tryReserve(10)).toBe(true);
});
