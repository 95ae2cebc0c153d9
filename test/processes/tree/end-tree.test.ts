import {expect, test, vi} from 'vitest';
import {endOrphansUntilGone} from '../../../src/processes/tree/end-tree.js';

const {attempts} = vi.hoisted(() => ({attempts: {count: 0, failures: 0}}));

// Real processes survive SIGKILL only where the machine has no processor time for the one that ends them.
vi.mock(import('../../../src/processes/tree/kill-tree.js'), async importOriginal => ({
	...(await importOriginal()),
	killUnadoptedOrphans: () => {
		attempts.count++;
		return [{pid: 1, parentPid: 0, groupId: 1, sessionId: 1, userId: 0, startTime: '0', command: 'escaper'}];
	},
}));
vi.mock(import('../../../src/processes/tree/wait-for-survivors.js'), async importOriginal => ({
	...(await importOriginal()),
	waitForOrphans: async (_isMember, killed) => (attempts.count <= attempts.failures ? [...killed] : []),
}));

test('orphans whose survivors are reported to nobody are ended again until none is left', async () => {
	attempts.failures = 3;
	await endOrphansUntilGone([{pid: 1, tag: undefined}]);
	expect(attempts.count).toBe(4);
});
