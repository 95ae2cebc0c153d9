import {
	chmodSync,
	linkSync,
	lutimesSync,
	mkdirSync,
	readdirSync,
	statSync,
	symlinkSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import * as fc from 'fast-check';
import {expect, test} from 'vitest';
import {packTree} from '../../../src/filesystem/archive/index.js';
import {bytePath, joinPath, toFsPath} from '../../../src/filesystem/byte-path.js';
import {isRoot} from '../../helpers/needs.js';
import {countOpenDescriptors} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {packed, pictureOf, unpacked} from './trees.js';

interface Shape {
	readonly parent: number;
	readonly name: string;
	readonly mode: number;
	readonly mtimeMs: number;
	readonly what:
		| {readonly kind: 'directory'}
		| {readonly kind: 'file'; readonly content: Uint8Array; readonly repeat: number}
		| {readonly kind: 'symlink'; readonly target: string}
		| {readonly kind: 'link'; readonly to: number};
}

/** Everybody but root has to be allowed to look into a tree to see whether it arrived. */
const ALWAYS_ALLOWED = isRoot ? 0 : 0o500;

/** Bytes of a name or of a link's target. */
const bytes = (max: number) =>
	fc
		.uint8Array({minLength: 1, maxLength: max})
		.map(value => Buffer.from(value.map(byte => byte || 1)).toString('latin1'));
const name = fc
	.oneof(bytes(12), bytes(255), fc.constantFrom('a', 'ü', '\xff', ' ', '%41', 'new\nline', '\xef\xbf\xbd'))
	.map(text => text.replaceAll('/', '_'))
	.filter(text => text !== '.' && text !== '..');
const what = fc.oneof(
	fc.record({kind: fc.constant('directory' as const)}),
	fc.record({
		kind: fc.constant('file' as const),
		content: fc.uint8Array({maxLength: 700}),
		repeat: fc.constantFrom(0, 1, 1, 1, 900),
	}),
	fc.record({kind: fc.constant('symlink' as const), target: bytes(200)}),
	fc.record({kind: fc.constant('link' as const), to: fc.nat()}),
);
const shape: fc.Arbitrary<Shape> = fc.record({
	parent: fc.nat(),
	name,
	mode: fc.integer({min: 0, max: 0o777}).map(mode => mode | ALWAYS_ALLOWED),
	mtimeMs: fc.integer({min: -1e12, max: 4e12}),
	what,
});

/** Makes what it can of the shapes; names that are taken are left out. */
function build(root: string, shapes: readonly Shape[]): void {
	const directories = [bytePath(root)];
	const files: ReturnType<typeof bytePath>[] = [];
	const described: (() => void)[] = [];
	for (const {parent, name: own, mode, mtimeMs, what: it} of shapes) {
		const path = joinPath(directories[parent % directories.length]!, own);
		const system = toFsPath(path);
		try {
			if (it.kind === 'directory') {
				mkdirSync(system);
				directories.push(path);
			} else if (it.kind === 'file') {
				writeFileSync(system, Buffer.concat(Array.from({length: it.repeat}, () => it.content)), {flag: 'wx'});
				files.push(path);
			} else if (it.kind === 'symlink') {
				symlinkSync(Buffer.from(it.target, 'latin1'), system);
				lutimesSync(system, 0, mtimeMs / 1000);
				continue;
			} else {
				if (files.length > 0) linkSync(toFsPath(files[it.to % files.length]!), system);
				continue;
			}
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
			throw error;
		}
		described.push(() => {
			chmodSync(system, mode);
			utimesSync(system, 0, mtimeMs / 1000);
		});
	}
	for (const describe of described.reverse()) describe();
}

test('a tree of any names, contents, modes, times and links arrives as it was', async () => {
	await fc.assert(
		fc.asyncProperty(
			fc.array(shape, {maxLength: 25}),
			fc.constantFrom(512, 1000, 10_240, 1024 * 1024),
			async (shapes, blockBytes) => {
				const [from, to] = [join(scratchDirectory(), 'from'), join(scratchDirectory(), 'to')];
				mkdirSync(from);
				build(from, shapes);
				const {archive, outcome, totals} = await packed(from, blockBytes);
				const arrived = await unpacked(archive, to, {sha256: outcome.sha256, blockBytes: blockBytes + 1});
				expect([...pictureOf(to)]).toEqual([...pictureOf(from)]);
				expect(outcome.errors).toEqual([]);
				expect(arrived).toEqual(outcome);
				expect({entries: arrived.entries, bytes: arrived.bytes}).toEqual(totals);
			},
		),
		{numRuns: 40},
	);
});

test('names and link targets may hold every byte but a slash and zero', async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	for (let byte = 1; byte < 256; byte++) {
		if (byte === 0x2f) continue;
		const own = String.fromCharCode(byte);
		const path = joinPath(bytePath(from), `${own}x`);
		writeFileSync(toFsPath(path), own, 'latin1');
		symlinkSync(Buffer.from([byte]), toFsPath(joinPath(bytePath(from), `${own}-link`)));
	}
	const {archive} = await packed(from);
	const {errors} = await unpacked(archive, to);
	expect(errors).toEqual([]);
	const [arrived, sent] = [pictureOf(to), pictureOf(from)];
	for (const picture of [arrived, sent]) picture.delete('');
	expect([...arrived]).toEqual([...sent]);
	expect(arrived.size).toBe(2 * 254);
});

test('a file of many blocks, a sparse one and one that ends with a block arrive whole', async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	const content = Buffer.alloc(3 * 1024 * 1024 + 17);
	for (let index = 0; index < content.length; index += 4)
		content.writeInt32LE(index, Math.min(index, content.length - 4));
	writeFileSync(join(from, 'large'), content);
	writeFileSync(join(from, 'whole'), content.subarray(0, 512 * 1024));
	writeFileSync(join(from, 'sparse'), 'x');
	truncateSync(join(from, 'sparse'), 5 * 1024 * 1024);
	const {archive, outcome} = await packed(from, 1024 * 1024);
	expect(await unpacked(archive, to, {blockBytes: 1024 * 1024})).toEqual(outcome);
	expect(outcome.bytes).toBe(content.length + 512 * 1024 + 5 * 1024 * 1024);
	const [arrived, sent] = [pictureOf(to), pictureOf(from)];
	for (const own of ['large', 'whole', 'sparse']) expect(arrived.get(own)).toEqual(sent.get(own));
});

test('a tree deeper than the levels that stay open is walked to its end, with few descriptors', async () => {
	const [from, to] = [join(scratchDirectory(), 'from'), join(scratchDirectory(), 'to')];
	const deep = Array.from({length: 300}, (_, level) => `l${level}`);
	mkdirSync(join(from, ...deep), {recursive: true});
	for (const level of [1, 70, 150, 299, 300]) {
		writeFileSync(join(from, ...deep.slice(0, level), 'zz-file'), `at ${level}`);
	}
	const before = countOpenDescriptors();
	const {archive} = await packed(from);
	await unpacked(archive, to);
	expect([...pictureOf(to)]).toEqual([...pictureOf(from)]);
	expect(countOpenDescriptors()).toBe(before);
});

test('a single file is an archive of one entry with its name', async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	writeFileSync(join(from, 'only'), 'content');
	const {archive, totals, outcome} = await packed(join(from, 'only'));
	expect(totals).toEqual({entries: 1, bytes: 7});
	await unpacked(archive, to);
	expect(readdirSync(to)).toEqual(['only']);
	expect(outcome).toMatchObject({entries: 1, bytes: 7, errors: []});
});

test('the same tree makes the same stream, whatever the blocks', async () => {
	const from = scratchDirectory();
	for (const own of ['b', 'a', 'c']) writeFileSync(join(from, own), own.repeat(3000));
	const {archive, outcome} = await packed(from, 512);
	expect(await packed(from, 100_000)).toMatchObject({archive, outcome});
});

test('a path that is a link is followed, links below it are not', async () => {
	const [from, to] = [scratchDirectory(), join(scratchDirectory(), 'to')];
	mkdirSync(join(from, 'tree'));
	writeFileSync(join(from, 'outside'), 'secret');
	symlinkSync('../outside', join(from, 'tree', 'link'));
	symlinkSync('tree', join(from, 'way'));
	const {archive} = await packed(join(from, 'way'));
	await unpacked(archive, to);
	expect(archive.includes('secret')).toBe(false);
	expect(pictureOf(to).get('link')).toMatchObject({kind: 'symlink', target: '../outside'});
});

test('a directory that was there keeps its mode, a new one gets that of the archive', async () => {
	const [from, to] = [scratchDirectory(), scratchDirectory()];
	for (const own of ['old', 'new']) mkdirSync(join(from, own));
	chmodSync(join(from, 'old'), 0o555);
	chmodSync(join(from, 'new'), 0o555);
	mkdirSync(join(to, 'old'));
	chmodSync(join(to, 'old'), 0o711);
	chmodSync(to, 0o750);
	const {archive} = await packed(from);
	await unpacked(archive, to);
	const modes = ['.', 'old', 'new'].map(own => statSync(join(to, own)).mode & 0o777);
	expect(modes).toEqual([0o750, 0o711, 0o555]);
});

test('a packed tree can be read from front to back only', async () => {
	const from = scratchDirectory();
	writeFileSync(join(from, 'file'), Buffer.alloc(10_000, 1));
	const tree = await packTree(bytePath(from));
	await expect(tree.finish()).rejects.toMatchObject({code: 'FILE_REFUSED'});
	await expect(tree.read(Buffer.alloc(512), 512)).rejects.toMatchObject({
		code: 'FILE_REFUSED',
		message: 'a packed tree is read from front to back: the next block is at 0',
	});
	const reads = [0, 8192, 16_384, 24_576].map(offset => tree.read(Buffer.alloc(8192), offset));
	const blocks = await Promise.all(reads);
	expect(blocks.map(({eof}) => eof)).toEqual([false, true, true, true]);
	expect(blocks.at(-1)).toEqual({length: 0, eof: true, progress: {entries: 2, bytes: 10_000}});
	await expect(tree.finish('00')).rejects.toMatchObject({code: 'TRANSFER_DAMAGED'});
	expect(await tree.finish()).toMatchObject({entries: 2, bytes: 10_000, errors: []});
	await tree.close();
	await expect(tree.read(Buffer.alloc(1))).rejects.toMatchObject({code: 'FILE_REFUSED'});
});
