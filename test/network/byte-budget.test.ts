import {expect, test} from 'vitest';
import {Ledger} from '../../src/network/byte-budget.js';

test('what is held stays within the bound, except that the first always fits', () => {
	const ledger = new Ledger(10);
	expect([ledger.add(6), ledger.add(5), ledger.add(4), ledger.add(1)]).toEqual([true, false, true, false]);
	ledger.remove(10);
	expect([ledger.add(50), ledger.add(1), ledger.add(0)]).toEqual([true, false, true]);
	ledger.remove(50);
	expect(ledger.add(10)).toBe(true);
});
