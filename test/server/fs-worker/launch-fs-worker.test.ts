import {mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {withRuntimeMounts} from '../../../src/server/fs-worker/launch-fs-worker.js';
import {scratchDirectory} from '../../helpers/scratch.js';

test('what a program needs is shown read-only with the links to it, and what is missing or shown already is left out', () => {
	const base = scratchDirectory();
	for (const name of ['shown', 'hidden']) mkdirSync(join(base, name));
	for (const name of ['shown/a', 'hidden/b']) writeFileSync(join(base, name), '');
	symlinkSync('hidden/b', join(base, 'link'));
	const plan = {mounts: [{kind: 'write', path: join(base, 'shown')} as const], network: 'none'} as const;
	const paths = ['shown/a', 'link', 'missing', 'hidden/b/below'].map(name => join(base, name));
	const {mounts, network} = withRuntimeMounts(plan, paths);
	expect(network).toBe('none');
	expect(mounts.filter(({path}) => path.startsWith(base))).toEqual(
		expect.arrayContaining([
			{kind: 'write', path: join(base, 'shown')},
			{kind: 'link', path: join(base, 'link'), to: 'hidden/b'},
			{kind: 'read', path: join(base, 'hidden/b')},
		]),
	);
	expect(mounts.filter(({path}) => path.startsWith(base))).toHaveLength(3);
});
