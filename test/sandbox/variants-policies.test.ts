import {mkdirSync, symlinkSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {MAX_POLICY_RULES} from '../../src/sandbox/policy.js';
import {at, type Entry, glob, policy, root} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

async function start(entries: readonly Entry[]): Promise<unknown> {
	const client = await TestClient.overMemory(execServer()).initialize();
	return client.sh('p', 'true', {sandbox: policy(entries)});
}

/** All of it is looked up at once, while other clients wait. */
describe('a policy that takes long to resolve is refused', () => {
	test('with too many paths', async () => {
		const entries = Array.from({length: MAX_POLICY_RULES}, (_, index) => at(`/none/${index}`, 'write'));
		await expect(start([root('read'), ...entries])).rejects.toThrow('more than 2000 paths');
	});

	test('with too many patterns', async () => {
		const entries = Array.from({length: MAX_POLICY_RULES}, (_, index) => glob(`/none/${index}/*`, 'deny'));
		await expect(start([root('read'), ...entries])).rejects.toThrow('more than 2000 paths');
	});

	test('with links that make a short path a very long one', async () => {
		const base = scratchDirectory();
		const steps = Array.from({length: 200}, () => 'e');
		mkdirSync(join(base, ...steps), {recursive: true});
		symlinkSync(steps.join('/'), join(base, 'link0'));
		const back = '../'.repeat(steps.length);
		for (let index = 1; index < 30; index++) symlinkSync(`link${index - 1}/${back}`, join(base, `link${index}`));
		const entries = Array.from({length: 50}, () => at(join(base, 'link29'), 'write'));
		await expect(start([root('read'), ...entries])).rejects.toThrow('lead through too many links');
	});
});
