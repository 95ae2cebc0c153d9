// covers: src/processes/spill, src/sandbox/unnamed-content.ts
import {mkdirSync, readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {ProcessSpill} from '../../../src/processes/spill/process-spill.js';
import {ProcessStore} from '../../../src/processes/spill/process-store.js';
import {closeAfterFailure, openRegularFile, replaceFile} from '../../../src/processes/spill/state-files.js';
import {openUnnamedContent} from '../../../src/sandbox/unnamed-content.js';
import {openFilesBelow} from '../../helpers/open-files.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {needsMount, smallDisk} from '../../helpers/small-disk.js';
import {metaOf} from '../../helpers/spills.js';

const UNUSABLE = {code: 'STATE_UNUSABLE', context: expect.objectContaining({errno: 'ENOSPC'}) as unknown};
/** The size of a page, the least that a file takes there. */
const PAGE = '4k';

/** A disk with so many free pages. */
function diskWithRoom(pages: number): string {
	const disk = smallDisk(`${(pages + 1) * 4}k`);
	writeFileSync(join(disk, 'ballast'), Buffer.alloc(4096));
	return disk;
}

function fail(): never {
	throw new Error('input/output error');
}

describe('on a full disk', needsMount(), () => {
	test.each([0, 1])('a spill that is half made leaves neither descriptors nor files, with %i pages free', pages => {
		const disk = diskWithRoom(pages);
		const create = (): unknown => ProcessSpill.create(join(disk, 'process'), metaOf('process'));
		expect(create).toThrow(expect.objectContaining(UNUSABLE));
		expect(openFilesBelow(disk)).toEqual([]);
		expect(readdirSync(disk)).toEqual(['ballast']);
	});

	test('a state directory that is half made is not locked', () => {
		const disk = diskWithRoom(0);
		expect(() => ProcessStore.open(join(disk, 'state'))).toThrow(expect.objectContaining(UNUSABLE));
		expect(openFilesBelow(disk)).toEqual([]);
	});

	test('a file of the state that cannot be replaced stays, and its half made successor goes', () => {
		const disk = smallDisk(PAGE);
		replaceFile(join(disk, 'file'), 'old');
		expect(() => replaceFile(join(disk, 'file'), 'new')).toThrow(expect.objectContaining({code: 'ENOSPC'}));
		expect(openFilesBelow(disk)).toEqual([]);
		expect(readdirSync(disk)).toEqual(['file']);
	});

	test('content for a trial of a sandbox is closed and removed', () => {
		const disk = diskWithRoom(0);
		expect(() => openUnnamedContent(Buffer.from('content'), disk)).toThrow(expect.objectContaining({code: 'ENOSPC'}));
		expect(openFilesBelow(disk)).toEqual([]);
		expect(readdirSync(disk)).toEqual(['ballast']);
	});
});

test('a file of the state that cannot get its name leaves nothing half made behind', () => {
	const directory = scratchDirectory();
	mkdirSync(join(directory, 'file'));
	expect(() => replaceFile(join(directory, 'file'), 'text')).toThrow(expect.objectContaining({code: 'EISDIR'}));
	expect(openFilesBelow(directory)).toEqual([]);
	expect(readdirSync(directory)).toEqual(['file']);
});

test('a descriptor whose first use fails is closed', () => {
	const path = join(scratchDirectory(), 'file');
	const fd = openRegularFile(path, 'create');
	expect(() => closeAfterFailure(fd, fail)).toThrow('input/output error');
	expect(openFilesBelow(join(path, '..'))).toEqual([]);
});
