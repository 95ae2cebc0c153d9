import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {join} from 'node:path';
import {expect, onTestFinished, test, vi} from 'vitest';
import {type BytePath, bytePath} from '../../src/filesystem/byte-path.js';
import * as files from '../../src/filesystem/index.js';
import {scratchDirectory} from '../helpers/scratch.js';

const FOLLOW = {followSymlinks: true};
const NO_LINKS = {followSymlinks: false};

function scratch(): {root: string; at: (...names: string[]) => BytePath; full: (...names: string[]) => string} {
	const root = scratchDirectory();
	const full = (...names: string[]) => join(root, ...names);
	return {root, full, at: (...names) => bytePath(full(...names))};
}

test('what is no regular file is refused at once, without being opened', async () => {
	const {at, full} = scratch();
	execFileSync('mkfifo', [full('fifo')]);
	for (const path of [at('fifo'), bytePath('/dev/zero'), bytePath('/dev/tty'), at()]) {
		await expect(files.readFile(path, FOLLOW)).rejects.toMatchObject({code: 'FILE_REFUSED', message: /is not a file$/});
		await expect(files.readFile(path, NO_LINKS)).rejects.toMatchObject({
			code: 'FILE_REFUSED',
			message: 'path is not a regular file',
		});
	}
	for (const options of [FOLLOW, NO_LINKS, {...FOLLOW, atomic: true}, {...NO_LINKS, atomic: true}]) {
		await expect(files.writeFile(at('fifo'), Buffer.from('x'), options)).rejects.toThrow(
			/No such device or address|not a regular file/,
		);
	}
});

test('a file that does not tell its size is read to its end', async () => {
	const content = Buffer.from(await files.readFile(bytePath('/proc/1/status'), FOLLOW)).toString();
	expect(content).toMatch(/^Name:.*\n/);
	expect(content).toContain('voluntary_ctxt_switches');
});

test('a write keeps the mode of the file and gives a new one what the umask leaves', async () => {
	const {at, full} = scratch();
	fs.writeFileSync(full('script'), 'old content');
	fs.chmodSync(full('script'), 0o751);
	for (const atomic of [false, true]) {
		await files.writeFile(at('script'), Buffer.from('new'), {...FOLLOW, atomic});
		await files.writeFile(at(`new${atomic}`), Buffer.from('x'), {...FOLLOW, atomic});
		expect(fs.statSync(full('script')).mode & 0o7777).toBe(0o751);
		expect(fs.readFileSync(full('script'), 'utf8')).toBe('new');
		expect(fs.statSync(full(`new${atomic}`)).mode & 0o777).toBe(0o666 & ~process.umask());
	}
	expect(fs.readdirSync(full()).sort()).toEqual(['newfalse', 'newtrue', 'script']);
});

test('an atomic write leaves links and their targets where they are', async () => {
	const {at, full} = scratch();
	fs.mkdirSync(full('real'));
	fs.writeFileSync(full('real/file'), 'old');
	fs.symlinkSync('real/file', full('link'));
	fs.symlinkSync('real/later', full('dangling'));
	await files.writeFile(at('link'), Buffer.from('new'), {...FOLLOW, atomic: true});
	await files.writeFile(at('dangling'), Buffer.from('made'), {...FOLLOW, atomic: true});
	expect([fs.readlinkSync(full('link')), fs.readlinkSync(full('dangling'))]).toEqual(['real/file', 'real/later']);
	expect([fs.readFileSync(full('real/file'), 'utf8'), fs.readFileSync(full('real/later'), 'utf8')]).toEqual([
		'new',
		'made',
	]);
	await expect(files.writeFile(at('link'), Buffer.from('no'), {...NO_LINKS, atomic: true})).rejects.toMatchObject({
		message: 'Symbolic link loop (os error 40)',
	});
});

test('names of every byte but NUL and the slash can be written, listed, walked, copied and removed', async () => {
	const {root, at, full} = scratch();
	fs.mkdirSync(full('all'));
	const names = Array.from({length: 255}, (_, index) => String.fromCharCode(index + 1))
		.filter(each => each !== '/' && each !== '.')
		.map(each => `<${each}>`);
	for (const each of names) await files.writeFile(`${root}/all/${each}` as BytePath, Buffer.from(each), NO_LINKS);
	const limits = {
		maxDepth: 1,
		maxDirectories: 10,
		maxEntries: 1000,
		followDirectorySymlinks: false,
		pruneHiddenDirectories: false,
	};
	const {entries, errors} = await files.walk(at('all'), limits);
	expect(errors).toEqual([]);
	expect(entries).toHaveLength(names.length);
	expect(new Set(entries.map(({path}) => path)).size).toBe(names.length);
	expect(entries[0]!.path.endsWith('/all/%3C%01%3E')).toBe(true);
	expect(entries.at(-1)!.path.endsWith('/all/%3C%FF%3E')).toBe(true);
	await files.copy(at('all'), at('copy'), {recursive: true});
	for (const each of names) {
		const path = `${root}/copy/${each}` as BytePath;
		expect(Buffer.from(await files.readFile(path, NO_LINKS)).toString()).toBe(each);
		expect(await files.getMetadata(path, NO_LINKS)).toMatchObject({isFile: true});
	}
	expect(await files.readDirectory(at('copy'))).toHaveLength(names.length);
	await files.remove(at('copy'), {recursive: true, force: false, ...FOLLOW});
	expect(fs.readdirSync(root)).toEqual(['all']);
});

test('a walk goes as deep as it was told, into each directory once, and past links that lead nowhere', async () => {
	const {root, at, full} = scratch();
	fs.mkdirSync(full('tree/a/b/c'), {recursive: true});
	fs.writeFileSync(full('tree/a/file'), '');
	fs.symlinkSync('none', full('tree/dangling'));
	fs.symlinkSync('a/file', full('tree/to-file'));
	fs.symlinkSync('..', full('tree/a/up'));
	const walked = async (maxDepth: number, followDirectorySymlinks: boolean) => {
		const bounds = {maxDirectories: 10, maxEntries: 100, pruneHiddenDirectories: false};
		const {entries, ...rest} = await files.walk(at('tree'), {...bounds, maxDepth, followDirectorySymlinks});
		expect(rest).toEqual({errors: [], truncated: false});
		return entries.map(({path}) => path.slice(`file://${root}/tree/`.length));
	};
	expect(await walked(0, false)).toEqual(['a']);
	expect(await walked(1, false)).toEqual(['a', 'a/b', 'a/file']);
	expect(await walked(2, false)).toEqual(['a', 'a/b', 'a/file', 'a/b/c']);
	expect(await walked(64, true)).toEqual(['a', 'a/b', 'a/file', 'a/up', 'a/b/c']);
});

test('a walk that takes long lets everything else have its turn', async () => {
	const {at, full} = scratch();
	for (const name of ['a', 'b']) fs.mkdirSync(full('tree', name), {recursive: true});
	const bounds = {maxDepth: 9, maxDirectories: 9, maxEntries: 9};
	let clock = 0;
	vi.spyOn(performance, 'now').mockImplementation(() => (clock += 1000));
	onTestFinished(() => void vi.restoreAllMocks());
	let hasTurned = false;
	setImmediate(() => {
		hasTurned = true;
	});
	await files.walk(at('tree'), {...bounds, followDirectorySymlinks: false, pruneHiddenDirectories: false});
	expect(hasTurned).toBe(true);
});

test('a file copied onto itself, by any of its names, keeps its content', async () => {
	const {at, full} = scratch();
	fs.writeFileSync(full('file'), 'content');
	fs.linkSync(full('file'), full('worker'));
	fs.symlinkSync('file', full('link'));
	for (const to of ['file', 'worker', 'link']) await files.copy(at('file'), at(to), {recursive: false});
	expect(fs.readFileSync(full('file'), 'utf8')).toBe('content');
});

test('a file that holds less than its size says is copied as far as it goes', async () => {
	const {at, full} = scratch();
	const shorter = '/sys/kernel/mm/transparent_hugepage/enabled';
	const sizeless = '/proc/version';
	for (const path of [shorter, sizeless].filter(one => fs.existsSync(one))) {
		await files.copy(bytePath(path), at('copy'), {recursive: false});
		expect(fs.readFileSync(full('copy'), 'utf8')).toBe(fs.readFileSync(path, 'utf8'));
	}
});

test.each([
	['at once', 100],
	['in several steps', 3 << 20],
])('a file that is cut off while it is copied %s is copied up to there', async (_, size) => {
	const {at, full} = scratch();
	const content = Buffer.alloc(size, 'longarm ');
	fs.writeFileSync(full('file'), content);
	const cut = size / 2;
	const fstat = vi.spyOn(fs, 'fstatSync').mockImplementationOnce(fd => {
		const stats = fs.fstatSync(fd);
		fs.truncateSync(full('file'), cut);
		return stats;
	});
	onTestFinished(() => fstat.mockRestore());
	await files.copy(at('file'), at('copy'), {recursive: false});
	expect(fs.readFileSync(full('copy')).equals(content.subarray(0, cut))).toBe(true);
});

test('a copy of a large file replaces a longer one and has its mode', async () => {
	const {at, full} = scratch();
	const content = Buffer.from(Array.from({length: 1 << 20}, (_, index) => index * 7));
	fs.writeFileSync(full('file'), content);
	fs.chmodSync(full('file'), 0o751);
	fs.writeFileSync(full('copy'), Buffer.alloc(2 << 20));
	await files.copy(at('file'), at('copy'), {recursive: false});
	expect(fs.readFileSync(full('copy')).equals(content)).toBe(true);
	expect(fs.statSync(full('copy')).mode & 0o7777).toBe(0o751);
});

test('a tree that would collide is not copied at all', async () => {
	const {at, full} = scratch();
	for (const directory of ['from/deep', 'to/deep']) fs.mkdirSync(full(directory), {recursive: true});
	fs.writeFileSync(full('from/a'), 'new');
	fs.symlinkSync('a', full('from/deep/link'));
	fs.symlinkSync('b', full('to/deep/link'));
	await expect(files.copy(at('from'), at('to'), {recursive: true})).rejects.toMatchObject({
		code: 'FILE_FAILED',
		message: 'File exists (os error 17)',
	});
	expect(fs.readdirSync(full('to'))).toEqual(['deep']);
});

test('a directory is not copied into itself, whatever it is called there', async () => {
	const {at, full} = scratch();
	fs.mkdirSync(full('dir/sub'), {recursive: true});
	fs.symlinkSync('dir', full('alias'));
	for (const to of ['dir', 'dir/sub/copy', 'alias/new', 'alias']) {
		await expect(files.copy(at('dir'), at(to), {recursive: true})).rejects.toMatchObject({
			message: 'fs/copy cannot copy a directory to itself or one of its descendants',
		});
	}
});

test('the copy of a device is refused, and nothing is written to one', async () => {
	const {at, full} = scratch();
	fs.writeFileSync(full('file'), 'x');
	await expect(files.copy(bytePath('/dev/zero'), at('zero'), {recursive: true})).rejects.toMatchObject({
		message: 'fs/copy only supports regular files, directories, and symlinks',
	});
	const before = fs.statSync('/dev/null').mode;
	await expect(files.copy(at('file'), bytePath('/dev/null'), {recursive: true})).rejects.toThrow('special file');
	expect(fs.statSync('/dev/null').mode).toBe(before);
});

test('nothing that is there is lost by a rename that may not overwrite', async () => {
	const {at, full} = scratch();
	for (const name of ['a', 'b']) fs.writeFileSync(full(name), name);
	for (const name of ['c', 'd']) fs.mkdirSync(full(name));
	for (const [from, to] of [
		['a', 'b'],
		['a', 'c'],
		['c', 'a'],
		['c', 'd'],
	] as const) {
		await expect(files.rename(at(from), at(to), {overwrite: false})).rejects.toThrow('File exists');
	}
	expect(fs.readdirSync(full()).sort()).toEqual(['a', 'b', 'c', 'd']);
	await files.rename(at('a'), at('b'), {overwrite: true});
	await files.rename(at('c'), at('d/e'), {overwrite: false});
	expect([fs.readdirSync(full()).sort(), fs.readFileSync(full('b'), 'utf8')]).toEqual([['b', 'd'], 'a']);
});

test('the root directory is not removed', async () => {
	await expect(files.remove(bytePath('/'), {recursive: true, force: true, ...FOLLOW})).rejects.toMatchObject({
		code: 'FILE_REFUSED',
	});
});

test('a directory with more entries than fit into a listing is an error, one with fewer is listed', async () => {
	const {at, full} = scratch();
	fs.mkdirSync(full('many'));
	for (let count = 0; count < 10_000; count++) fs.writeFileSync(full('many', `file-${count}`), '');
	expect(await files.readDirectory(at('many'))).toHaveLength(10_000);
	// More names of the same file, which is cheaper than more files.
	for (let count = 10_000; count <= 50_000; count++) fs.linkSync(full('many', 'file-0'), full('many', `file-${count}`));
	await expect(files.readDirectory(at('many'))).rejects.toMatchObject({
		code: 'FILE_FAILED',
		message: 'fs/readDirectory returned 50001 entries; limit is 50000',
	});
	await files.remove(at('many'), {recursive: true, force: false, ...FOLLOW});
	expect(fs.readdirSync(full())).toEqual([]);
});
