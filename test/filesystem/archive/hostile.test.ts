import {
	linkSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {unpackTree} from '../../../src/filesystem/archive/index.js';
import {bytePath} from '../../../src/filesystem/byte-path.js';
import {countOpenDescriptors} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {archiveOf, packed, pictureOf, type RawEntry, unpacked} from './trees.js';

/** A target inside a directory that has to stay as it is. */
function surroundings(): {readonly around: string; readonly target: string} {
	const around = scratchDirectory();
	const target = join(around, 'target');
	mkdirSync(target);
	writeFileSync(join(around, 'precious'), 'kept');
	return {around, target};
}

const HOSTILE: readonly (readonly [what: string, entries: readonly RawEntry[]])[] = [
	['a name that goes up', [{name: '../evil', content: 'x'}]],
	['a name that goes down and up', [{name: 'a/../../evil', content: 'x'}]],
	['a directory that goes up', [{name: '..', type: 'directory'}]],
	['an absolute name', [{name: '/tmp/longarm-evil', content: 'x'}]],
	['a name with a zero', [{name: 'x', pax: {'LONGARM.path': 'a%00b'}, content: 'x'}]],
	['an exact name that goes up', [{name: 'x', pax: {'LONGARM.path': '%2E%2E/evil'}, content: 'x'}]],
	['an exact name that is absolute', [{name: 'x', pax: {'LONGARM.path': '%2Ftmp%2Fevil'}, content: 'x'}]],
	['a file in the place of the root', [{name: './', pax: {'LONGARM.path': '.'}, content: 'x'}]],
	[
		'a name through a link of the archive',
		[
			{name: 'way', type: 'symlink', linkname: '..'},
			{name: 'way/evil', content: 'x'},
		],
	],
	[
		'a directory through a link of the archive',
		[
			{name: 'way', type: 'symlink', linkname: '..'},
			{name: 'way/evil', type: 'directory'},
		],
	],
	[
		'a name through a file of the archive',
		[
			{name: 'file', content: 'x'},
			{name: 'file/evil', content: 'x'},
		],
	],
	['a hard link to something outside', [{name: 'evil', type: 'link', linkname: '../precious'}]],
	['a hard link to an absolute name', [{name: 'evil', type: 'link', linkname: '/etc/passwd'}]],
	[
		'a hard link through a link',
		[
			{name: 'way', type: 'symlink', linkname: '..'},
			{name: 'evil', type: 'link', linkname: 'way/precious'},
		],
	],
	[
		'a hard link to a link',
		[
			{name: 'way', type: 'symlink', linkname: '../precious'},
			{name: 'evil', type: 'link', linkname: 'way'},
		],
	],
	[
		'a hard link to a directory',
		[
			{name: 'directory', type: 'directory'},
			{name: 'evil', type: 'link', linkname: 'directory'},
		],
	],
];

for (const overwrite of [false, true]) {
	test.each(HOSTILE)(`%s is refused and touches nothing outside (overwrite: ${overwrite})`, async (_, entries) => {
		const {around, target} = surroundings();
		const archive = await archiveOf(...entries);
		await expect(unpacked(archive, target, {overwrite})).rejects.toMatchObject({code: 'FILE_REFUSED'});
		expect(readdirSync(around).sort()).toEqual(['precious', 'target']);
		expect(readFileSync(join(around, 'precious'), 'utf8')).toBe('kept');
		expect(lstatSync(join(around, 'precious')).nlink).toBe(1);
	});
}

test('a file in the place of a link of the archive replaces the link and not what it leads to', async () => {
	const {around, target} = surroundings();
	const archive = await archiveOf(
		{name: 'way', type: 'symlink', linkname: '../precious'},
		{name: 'way', content: 'new'},
	);
	await expect(unpacked(archive, target)).rejects.toMatchObject({code: 'FILE_FAILED', context: {errno: 'EEXIST'}});
	await unpacked(archive, target, {overwrite: true});
	expect(readFileSync(join(target, 'way'), 'utf8')).toBe('new');
	expect(readFileSync(join(around, 'precious'), 'utf8')).toBe('kept');
});

test('a directory in the place of a link is made only where that may be replaced', async () => {
	const {around, target} = surroundings();
	symlinkSync('..', join(target, 'way'));
	const archive = await archiveOf({name: 'way', type: 'directory'}, {name: 'way/file', content: 'x'});
	await expect(unpacked(archive, target)).rejects.toMatchObject({context: {errno: 'EEXIST', entry: 'way'}});
	await unpacked(archive, target, {overwrite: true});
	expect(readdirSync(join(target, 'way'))).toEqual(['file']);
	expect(readdirSync(around).sort()).toEqual(['precious', 'target']);
});

test('devices, FIFOs and what is not known are skipped and named', async () => {
	const {target} = surroundings();
	const archive = await archiveOf(
		{name: 'fifo', type: 'fifo'},
		{name: 'device', type: 'character-device', devmajor: 1, devminor: 3},
		{name: 'disk', type: 'block-device'},
		{name: 'sparse', pax: {'GNU.sparse.major': '1'}, content: 'map and data'},
		{name: 'after', content: 'x'},
	);
	const {entries, errors} = await unpacked(archive, target);
	expect(readdirSync(target)).toEqual(['after']);
	expect(entries).toBe(1);
	expect(errors).toEqual([
		{path: join(target, 'fifo'), message: 'special files are not unpacked'},
		{path: join(target, 'device'), message: 'special files are not unpacked'},
		{path: join(target, 'disk'), message: 'special files are not unpacked'},
		{path: join(target, 'sparse'), message: 'sparse files of GNU tar are not unpacked'},
	]);
});

test('of more than a thousand complaints the rest is counted', async () => {
	const entries = Array.from({length: 1005}, (_, index): RawEntry => ({name: `fifo-${index}`, type: 'fifo'}));
	const target = scratchDirectory();
	const {errors} = await unpacked(await archiveOf(...entries), target);
	expect(errors).toHaveLength(1001);
	expect(errors.at(-1)).toEqual({path: target, message: 'and 5 more'});
});

async function smallArchive(): Promise<Buffer> {
	const from = scratchDirectory();
	mkdirSync(join(from, 'directory'));
	writeFileSync(join(from, 'directory', 'file'), 'x'.repeat(1500));
	writeFileSync(join(from, 'zeros'), Buffer.alloc(2048));
	symlinkSync('zeros', join(from, 'zlink'));
	return (await packed(from)).archive;
}

test('an archive that is cut off anywhere is damaged, and no part of a file stays', async () => {
	const archive = await smallArchive();
	for (let length = 0; length < archive.length; length += 512) {
		const target = scratchDirectory();
		const cut = unpacked(archive.subarray(0, length), target);
		await expect(cut, `${length} bytes`).rejects.toMatchObject({code: 'TRANSFER_DAMAGED'});
		const sizes = ['directory/file', 'zeros'].map(name => lstatSync(join(target, name), {throwIfNoEntry: false})?.size);
		expect([1500, undefined]).toContain(sizes[0]);
		expect([2048, undefined]).toContain(sizes[1]);
	}
});

test('a byte that changed on the way is noticed by the checksum', async () => {
	const archive = await smallArchive();
	const {createHash} = await import('node:crypto');
	const sha256 = createHash('sha256').update(archive).digest('hex');
	await unpacked(archive, scratchDirectory(), {sha256: sha256.toUpperCase()});
	for (let index = 0; index < archive.length; index += 97) {
		const flipped = Buffer.from(archive);
		flipped[index]! ^= 0x10;
		const {around, target} = surroundings();
		await expect(unpacked(flipped, target, {sha256}), `byte ${index}`).rejects.toMatchObject({name: 'LongarmError'});
		expect(readdirSync(around).sort()).toEqual(['precious', 'target']);
	}
});

test('something behind the end of an archive is damage, zeros are not', async () => {
	const archive = await smallArchive();
	await unpacked(Buffer.concat([archive, Buffer.alloc(10_240)]), scratchDirectory());
	for (const rest of [Buffer.alloc(512, 'x'), Buffer.alloc(100), Buffer.alloc(3000, 1)]) {
		const overlong = unpacked(Buffer.concat([archive, rest]), scratchDirectory());
		await expect(overlong).rejects.toMatchObject({code: 'TRANSFER_DAMAGED'});
	}
});

test('an entry whose headers do not end is damage before it fills the memory', async () => {
	const archive = await archiveOf({name: 'x', pax: {comment: 'y'.repeat(3 * 1024 * 1024)}, content: 'z'});
	const tree = await unpackTree(bytePath(scratchDirectory()));
	await tree.write(archive.subarray(0, 1024 * 1024));
	await expect(tree.write(archive.subarray(1024 * 1024, 2 * 1024 * 1024))).rejects.toMatchObject({
		code: 'TRANSFER_DAMAGED',
		message: 'an entry has endless headers',
	});
	await tree.abort();
});

test('a target that is swapped for a link meanwhile does not lead astray', async () => {
	const {around, target} = surroundings();
	const archive = await archiveOf(
		{name: 'sub/', type: 'directory'},
		{name: 'sub/one', content: '1'},
		{name: 'sub/two', content: '2'},
		{name: 'three', content: '3'},
	);
	const elsewhere = join(around, 'elsewhere');
	mkdirSync(join(elsewhere, 'sub'), {recursive: true});
	const tree = await unpackTree(bytePath(target));
	await tree.write(archive.subarray(0, 1024 + 512));
	renameSync(join(target, 'sub'), join(around, 'moved-sub'));
	symlinkSync(join(elsewhere, 'sub'), join(target, 'sub'));
	renameSync(target, join(around, 'moved'));
	symlinkSync(elsewhere, target);
	await tree.write(archive.subarray(1024 + 512));
	await tree.finish();
	expect([...pictureOf(elsewhere).keys()]).toEqual(['', 'sub']);
	expect(readdirSync(join(around, 'moved-sub'))).toEqual(['one', 'two']);
	expect(readdirSync(join(around, 'moved')).sort()).toEqual(['sub', 'three']);
});

test('with overwrite, a file loses its other names, and a directory is never replaced', async () => {
	const {around, target} = surroundings();
	linkSync(join(around, 'precious'), join(target, 'file'));
	mkdirSync(join(target, 'directory'));
	const file = await archiveOf({name: 'file', content: 'new'});
	await expect(unpacked(file, target)).rejects.toMatchObject({
		code: 'FILE_FAILED',
		message: 'file: File exists (os error 17)',
		context: {errno: 'EEXIST', entry: 'file'},
	});
	await unpacked(file, target, {overwrite: true});
	expect(readFileSync(join(target, 'file'), 'utf8')).toBe('new');
	expect(readFileSync(join(around, 'precious'), 'utf8')).toBe('kept');
	for (const entry of [{content: 'x'}, {type: 'symlink', linkname: 'x'}, {type: 'link', linkname: 'file'}] as const) {
		const archive = await archiveOf({name: 'directory', ...entry});
		const occupied = unpacked(archive, target, {overwrite: true});
		await expect(occupied).rejects.toMatchObject({code: 'FILE_FAILED', context: {errno: 'EISDIR'}});
	}
});

test('with overwrite, a hard link to itself leaves the file alone', async () => {
	const target = scratchDirectory();
	const archive = await archiveOf(
		{name: 'file', content: 'content'},
		{name: 'file', type: 'link', linkname: 'file'},
		{name: 'other', type: 'link', linkname: 'file'},
	);
	await unpacked(archive, target, {overwrite: true});
	await unpacked(archive, target, {overwrite: true});
	expect(readFileSync(join(target, 'other'), 'utf8')).toBe('content');
});

test('giving up removes the file that is being written and keeps the others', async () => {
	const target = scratchDirectory();
	const archive = await archiveOf({name: 'done', content: 'x'}, {name: 'half', content: 'y'.repeat(100_000)});
	const before = countOpenDescriptors();
	const tree = await unpackTree(bytePath(target));
	expect(await tree.write(archive.subarray(0, 50_000), 0)).toMatchObject({entries: 1});
	expect(readdirSync(target).sort()).toEqual(['done', 'half']);
	await tree.abort();
	expect(readdirSync(target)).toEqual(['done']);
	expect(countOpenDescriptors()).toBe(before);
	await expect(tree.write(archive.subarray(50_000))).rejects.toMatchObject({message: 'the transfer was given up'});
});

test('after a failure everything fails the same way', async () => {
	const tree = await unpackTree(bytePath(scratchDirectory()));
	await expect(tree.write(Buffer.alloc(512), 512)).rejects.toMatchObject({
		message: 'a tree is unpacked from front to back: the next block is at 0',
	});
	const failure = await tree.write(Buffer.alloc(512, 'x'), 0).catch((error: unknown) => error);
	expect(failure).toMatchObject({code: 'TRANSFER_DAMAGED'});
	await expect(tree.write(Buffer.alloc(512), 512)).rejects.toBe(failure);
	await expect(tree.finish()).rejects.toBe(failure);
});
