import {expect, test} from 'vitest';
import {holdAgainstOracle} from './oracle.js';

test('random operations leave the same tree as node:fs does, and fail where it fails', async () => {
	await expect(holdAgainstOracle(300)).resolves.toBeUndefined();
}, 120_000);
