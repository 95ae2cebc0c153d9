import {lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pack as newPack} from 'tar-stream';
import {expect, test} from 'vitest';
import {EntryPacker} from '../../../src/filesystem/archive/pack-entries.js';
import {EntryErrors} from '../../../src/filesystem/archive/transfer-outcome.js';
import type {Visit} from '../../../src/filesystem/archive/walk-tree.js';
import {bytePath} from '../../../src/filesystem/byte-path.js';
import {syncCalls} from '../../../src/filesystem/syscalls.js';
import {scratchDirectory} from '../../helpers/scratch.js';

test('a file that has become a link since it was seen is left out and named, not followed', async () => {
	const root = scratchDirectory();
	mkdirSync(join(root, 'tree'));
	writeFileSync(join(root, 'secret'), 'secret');
	const [file, other] = [join(root, 'tree/file'), join(root, 'tree/other')];
	for (const path of [file, other]) writeFileSync(path, 'open');
	async function* visits(): AsyncGenerator<Visit, void, void> {
		for (const [name, path] of Object.entries({file, other})) {
			const stats = lstatSync(path);
			if (path === file) {
				rmSync(file);
				symlinkSync('../secret', file);
			}
			yield {kind: 'found', name, path: bytePath(path), stats};
		}
	}
	const entryErrors = new EntryErrors(bytePath(join(root, 'tree')));
	const tar = newPack();
	let archive = '';
	tar.setEncoding('latin1').on('data', (data: string) => {
		archive += data;
	});
	const ended = new Promise(resolve => tar.once('end', resolve));
	for await (const _step of new EntryPacker(syncCalls, tar, entryErrors).pack(visits()));
	expect(entryErrors.list).toEqual([{path: bytePath(file), message: 'Symbolic link loop (os error 40)'}]);
	await ended;
	expect([archive.includes('open'), archive.includes('secret')]).toEqual([true, false]);
});
