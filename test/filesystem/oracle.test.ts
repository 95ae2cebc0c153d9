import {test} from 'vitest';
import {holdAgainstOracle} from './oracle.js';

test('random operations leave the same tree as node:fs does, and fail where it fails', async () => {
	await holdAgainstOracle(300);
}, 120_000);
