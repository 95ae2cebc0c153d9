import {existsSync} from 'node:fs';
import {expect, test} from 'vitest';

interface ContractTests {
	readonly CONTRACT_TESTS: readonly string[];
}

test('every contract test that the stock server has to pass exists', async () => {
	const script = new URL('../../scripts/lib/contract-tests.mjs', import.meta.url);
	const {CONTRACT_TESTS} = (await import(script.href)) as ContractTests;
	const missing = CONTRACT_TESTS.filter(path => !existsSync(new URL(`../../${path}`, import.meta.url)));
	expect(CONTRACT_TESTS.length).toBeGreaterThan(4);
	expect(missing).toEqual([]);
});
