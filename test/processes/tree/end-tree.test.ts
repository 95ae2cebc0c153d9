import {expect, test, vi} from 'vitest';
import {endOrphansUntilGone} from '../../../src/processes/tree/end-tree.js';

const {attempts, orphan} = vi.hoisted(() => ({
	attempts: {count: 0, failures: 0},
	orphan: {pid: 1, parentPid: 0, groupId: 1, sessionId: 1, userId: 0, startTime: '0', command: 'escaper'},
}));

// Real processes survive SIGKILL only where the machine has no processor time for the one that ends them.
vi.mock(import('../../../src/processes/tree/subreaper.js'), async importOriginal => ({
	...(await importOriginal()),
	isSubreaper: () => true,
	findOrphans: () => [{...orphan, isDead: false, tag: undefined}],
}));
vi.mock(import('../../../src/processes/tree/kill-tree.js'), async importOriginal => ({
	...(await importOriginal()),
	killOrphanTrees: () => {
		attempts.count++;
		return [];
	},
}));
vi.mock(import('../../../src/processes/tree/wait-for-survivors.js'), async importOriginal => ({
	...(await importOriginal()),
	waitForOrphans: async () => (attempts.count <= attempts.failures ? [orphan] : []),
}));

test('orphans whose survivors are reported to nobody are ended again until none is left', async () => {
	attempts.failures = 3;
	await endOrphansUntilGone([{pid: 1, tag: undefined}]);
	// Three attempts in a row that leave none prove it.
	expect(attempts.count).toBe(3 + 3);
});
