import {expect, test} from 'vitest';
import {ByteBudget} from '../../src/network/byte-budget.js';

test('what is held stays within the bound, except that the first always fits', () => {
	const budget = new ByteBudget(10);
	expect([budget.add(6), budget.add(5), budget.add(4), budget.add(1)]).toEqual([true, false, true, false]);
	budget.remove(10);
	expect([budget.add(50), budget.add(1), budget.add(0)]).toEqual([true, false, true]);
	budget.remove(50);
	expect(budget.add(10)).toBe(true);
});
