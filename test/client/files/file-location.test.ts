import {mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {isDisconnected} from '../../../src/client/files/file-error.js';
import {
	childLocation,
	metadataIfExists,
	requireFreeTarget,
	siblingLocation,
	toUriLocation,
} from '../../../src/client/files/file-location.js';
import {LocalFiles} from '../../../src/environments/local/local-files.js';
import {scratchDirectory} from '../../helpers/scratch.js';

const files = new LocalFiles();

test('metadata of a missing path is undefined, and other failures are thrown unless they count as absence', async () => {
	const root = scratchDirectory();
	writeFileSync(join(root, 'file'), 'abc');
	symlinkSync('loop', join(root, 'loop'));
	const loop = {files, path: join(root, 'loop')};
	expect(await metadataIfExists({files, path: join(root, 'file')})).toMatchObject({isFile: true, size: 3});
	expect(await metadataIfExists({files, path: join(root, 'none')})).toBe(undefined);
	await expect(metadataIfExists(loop)).rejects.toMatchObject({name: 'FileError'});
	expect(await metadataIfExists(loop, error => !isDisconnected(error))).toBe(undefined);
});

test('a target that exists is refused', async () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'a'));
	await expect(requireFreeTarget({files, path: join(root, 'a')})).rejects.toMatchObject({code: 'refused'});
	await requireFreeTarget({files, path: join(root, 'b')});
});

test('children and siblings keep the bytes of names', () => {
	const directory = toUriLocation({files, path: 'file:///srv/%FF'});
	expect(childLocation(directory, '')).toBe(directory);
	expect(childLocation(directory, 'a\u00fe').path.href).toBe('file:///srv/%FF/a%FE');
	expect(siblingLocation(directory, name => `${name}.part`).path.href).toBe('file:///srv/%FF.part');
});
