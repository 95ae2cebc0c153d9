import {expect, test, vi} from 'vitest';
import {holdAgainstOracle} from './oracle.js';

vi.mock('../../src/shared/node/mounts.js', () => ({mayHang: () => true}));

test('random operations do the same where a disk may be slow and other threads wait for it', async () => {
	await expect(holdAgainstOracle(150)).resolves.toBeUndefined();
}, 120_000);
