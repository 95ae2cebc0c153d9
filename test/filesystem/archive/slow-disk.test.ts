import {linkSync, mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test, vi} from 'vitest';
import {countOpenDescriptors, eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {packed, pictureOf, unpacked} from './trees.js';

vi.mock('../../../src/shared/node/mounts.js', () => ({mayHang: () => true}));

test('where a file system may not answer, another thread waits for it and the tree arrives all the same', async () => {
	const [from, to] = [join(scratchDirectory(), 'from'), join(scratchDirectory(), 'to')];
	mkdirSync(join(from, 'sub', 'empty'), {recursive: true});
	writeFileSync(join(from, 'sub', 'small'), 'content');
	writeFileSync(join(from, 'large'), Buffer.alloc(1_000_000, 'x'));
	linkSync(join(from, 'large'), join(from, 'sub', 'second'));
	symlinkSync('../large', join(from, 'sub', 'link'));
	const before = countOpenDescriptors();
	const {archive, outcome} = await packed(from);
	expect(await unpacked(archive, to, {sha256: outcome.sha256})).toEqual(outcome);
	expect([...pictureOf(to)]).toEqual([...pictureOf(from)]);
	await eventually(() => countOpenDescriptors() === before);
});
