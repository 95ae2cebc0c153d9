import {createHash, randomBytes} from 'node:crypto';
import {mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {describe, expect, test} from 'vitest';
import type {Files, TreeEntry} from '../../../src/client/files/files.js';
import {treeEntries} from '../../../src/client/files/streams/tree-entries.js';
import {describeTree, makeOddTree} from '../../helpers/file-trees.js';
import {eventually} from '../../helpers/processes.js';
import {scratchDirectory} from '../../helpers/scratch.js';
import {type ClientApis, LOCAL_AND_REMOTE} from '../local-and-remote.js';

type Machines = [string, () => Promise<ClientApis>][];

const [OURS, STOCK] = [false, true].map(isStock =>
	Object.entries(LOCAL_AND_REMOTE).filter(([name]) => name.includes('stock') === isStock),
) as [Machines, Machines];

test.each(STOCK)('what is needed to resume is unsupported %s', async (_, machine) => {
	const {files} = await machine();
	expect(await files.supports('resume')).toBe(false);
	await expect(listed(files, '/')).rejects.toMatchObject({code: 'unsupported'});
	await expect(write(files, '/none', 0, '')).rejects.toMatchObject({code: 'unsupported'});
	await expect(files.digest('/', {offset: 0, length: 1})).rejects.toMatchObject({code: 'unsupported'});
});

describe.each(OURS)('%s', (_, machine) => {
	async function working() {
		const root = scratchDirectory();
		const {files} = await machine();
		return {files, at: (...names: string[]) => join(root, ...names)};
	}

	test('a tree is listed with kinds, sizes, modes, times and targets, parents first', async () => {
		const {files, at} = await working();
		mkdirSync(at('b', 'in'), {recursive: true});
		mkdirSync(at('c'));
		writeFileSync(at('b', 'in', 'x'), '12345', {mode: 0o640});
		utimesSync(at('b', 'in', 'x'), 1, 1234.567);
		symlinkSync('b/in', at('a'));
		writeFileSync(Buffer.concat([Buffer.from(`${at()}/`), Buffer.from([0xff])]), '');
		const entries = await listed(files, at());
		expect(entries.map(({name}) => name)).toEqual(['', 'a', 'b', 'b/in', 'b/in/x', 'c', '\u00ff']);
		expect(entries[1]).toMatchObject({kind: 'symlink', target: 'b/in'});
		expect(entries[4]).toMatchObject({kind: 'file', size: 5, mode: 0o640, modifiedAtMs: 1_234_567});
		expect((await listed(files, at(), {depth: 1})).map(({name}) => name)).toEqual(['', 'a', 'b', 'c', '\u00ff']);
		const names = ['b/in', 'none', 'a/x', 'b/in/x', ''];
		expect((await listed(files, at(), {names})).map(({name}) => name)).toEqual(['b/in', 'b/in/x', '']);
		expect(await listed(files, at('none'), {names})).toEqual([]);
		expect(await listed(files, at('b', 'in', 'x'))).toMatchObject([{name: '', kind: 'file', size: 5}]);
		await expect(listed(files, at('none'))).rejects.toMatchObject({code: 'not-found'});
	});

	test('a list goes on behind any of its entries, also one that is gone', async () => {
		const {files, at} = await working();
		for (const name of ['a', 'b/c', 'b/d', 'b.x', 'e']) mkdirSync(at(name), {recursive: true});
		writeFileSync(at('b', 'c', 'f'), '');
		const names = (await listed(files, at())).map(({name}) => name);
		expect(names).toEqual(['', 'a', 'b', 'b/c', 'b/c/f', 'b/d', 'b.x', 'e']);
		for (const [index, after] of names.entries()) {
			expect((await listed(files, at(), {after})).map(({name}) => name)).toEqual(names.slice(index + 1));
		}
		expect((await listed(files, at(), {after: 'b/c/gone'})).map(({name}) => name)).toEqual(['b/d', 'b.x', 'e']);
		expect((await listed(files, at(), {after: 'b/cc/x'})).map(({name}) => name)).toEqual(['b/d', 'b.x', 'e']);
		await expect(listed(files, at(), {after: '../x'})).rejects.toMatchObject({code: 'refused'});
		await expect(listed(files, at(), {after: 'a', names: ['b']})).rejects.toMatchObject({code: 'refused'});
	});

	test('names that lead out of the directory are refused', async () => {
		const {files, at} = await working();
		mkdirSync(at('in'));
		writeFileSync(at('secret'), 'x');
		symlinkSync('..', at('in', 'up'));
		for (const names of [['../secret'], ['a/../../secret'], ['/etc/hostname']]) {
			await expect(listed(files, at('in'), {names})).rejects.toMatchObject({code: 'refused'});
			await expect(files.pack(at('in'), {names})).rejects.toMatchObject({code: 'refused'});
			await expect(files.setAttributes(at('in'), [{name: names[0]!, mode: 0}])).rejects.toMatchObject({
				code: 'refused',
			});
		}
		expect(await listed(files, at('in'), {names: ['up/secret']})).toEqual([]);
		const errors = await files.setAttributes(at('in'), [
			{name: 'up/secret', mode: 0},
			{name: 'up', mode: 0},
		]);
		expect(errors.map(({path}) => path)).toEqual([
			`${pathToFileURL(at('in')).href}/up/secret`,
			`${pathToFileURL(at('in')).href}/up`,
		]);
		expect(statSync(at('secret')).mode & 0o777).not.toBe(0);
	});

	test('the digest of a part of a file is that of its bytes', async () => {
		const {files, at} = await working();
		const content = randomBytes(3_000_000);
		writeFileSync(at('a'), content);
		for (const [offset, length] of [
			[0, 3_000_000],
			[1, 0],
			[1_000_001, 1_500_000],
			[2_999_999, 10],
			[4_000_000, 5],
		] as const) {
			const part = content.subarray(offset, offset + length);
			const sha256 = createHash('sha256').update(part).digest('hex');
			expect(await files.digest(at('a'), {offset, length})).toEqual({sha256, length: part.length});
		}
	});

	test('a stream that begins in the middle leaves the rest of the file, and makes a private one', async () => {
		const {files, at} = await working();
		writeFileSync(at('a'), '0123456789');
		await write(files, at('a'), 3, 'xyz');
		expect(readFileSync(at('a'), 'utf8')).toBe('012xyz6789');
		await write(files, at('new'), 0, 'secret');
		expect([readFileSync(at('new'), 'utf8'), statSync(at('new')).mode & 0o777]).toEqual(['secret', 0o600]);
		symlinkSync('a', at('link'));
		await expect(write(files, at('link'), 0, 'x')).rejects.toMatchObject({name: 'FileError'});
		expect(readFileSync(at('a'), 'utf8')).toBe('012xyz6789');
	});

	test('a tree can be sent in parts, which are described at the end', async () => {
		const {files, at} = await working();
		makeOddTree(at('from'));
		const entries = (await listed(files, at('from'))).filter(entry => entry.kind !== 'failed');
		const names = entries.map(({name}) => name);
		for (const part of [names.slice(0, 5), names.slice(5)]) {
			const packed = await files.pack(at('from'), {names: part});
			const checksum = async () => (await packed.outcome).sha256;
			const unpacked = await files.unpack(at('to'), {partial: true, overwrite: true, checksum});
			await packed.stream.pipeTo(unpacked.stream);
			expect(await unpacked.outcome).toMatchObject({entries: part.length, errors: []});
		}
		const directories = entries.filter(({kind}) => kind === 'directory').reverse();
		const described = directories.map(({name, mode, modifiedAtMs}) => ({name, mode, modifiedAtMs}));
		expect(await files.setAttributes(at('to'), described)).toEqual([]);
		expect(describeTree(at('to'))).toEqual(describeTree(at('from')));
	});

	test('of a part that is broken off no file is there under its name that is not whole', async () => {
		const {files, at} = await working();
		mkdirSync(at('from'));
		writeFileSync(at('from', 'a'), randomBytes(100_000));
		writeFileSync(at('from', 'b'), randomBytes(3_000_000));
		mkdirSync(at('to'));
		writeFileSync(at('to', 'b'), 'old');
		const packed = await files.pack(at('from'), {names: ['a', 'b']});
		let tell!: () => void;
		const isTaken = new Promise<void>(resolve => {
			tell = resolve;
		});
		const unpacked = await files.unpack(at('to'), {partial: true, overwrite: true, progress: () => tell()});
		const [reader, writer] = [packed.stream.getReader(), unpacked.stream.getWriter()];
		await writer.write((await reader.read()).value!);
		await isTaken;
		await writer.abort();
		await expect(unpacked.outcome).rejects.toMatchObject({code: 'ended'});
		// The end of a transfer is not waited for by whoever gave it up; the next use of the directory tells.
		await eventually(() => readdirSync(at('to')).join(' ') === 'a b');
		expect([readFileSync(at('to', 'b'), 'utf8'), statSync(at('to', 'a')).size]).toEqual(['old', 100_000]);
		await reader.cancel();
	});
});

test.each([
	['{"name":"../x","kind":"file","size":1,"mode":1,"modifiedAtMs":1}', 'not below the directory'],
	['{"name":"a/%2E%2E/x","kind":"file","size":1,"mode":1,"modifiedAtMs":1}', 'not below the directory'],
	...['./x', 'a/./x', '/x', 'a//x', 'a/', 'a%00b'].map(name => [
		`{"name":"${name}","kind":"file","size":1,"mode":1,"modifiedAtMs":1}`,
		'not below the directory',
	]),
	['{"name":"x","kind":"door"}', 'not understood'],
	['nonsense', 'not JSON'],
])('a list with the line %s is not believed', async (line, why) => {
	const stream = new Blob([`${line}\n`]).stream() as ReadableStream<Uint8Array>;
	await expect(all(treeEntries(stream, 'p'))).rejects.toMatchObject({
		code: 'invalid-data',
		message: expect.stringContaining(why) as string,
	});
	const cut = new Blob(['{"name":"x"']).stream() as ReadableStream<Uint8Array>;
	await expect(all(treeEntries(cut, 'p'))).rejects.toThrow('ends within a line');
});

function listed(files: Files, path: string, options?: Parameters<Files['list']>[1]): Promise<TreeEntry[]> {
	return all(files.list(path, options));
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
	const found: T[] = [];
	for await (const item of items) found.push(item);
	return found;
}

async function write(files: Files, path: string, offset: number, text: string): Promise<void> {
	const writer = files.writeStream(path, {offset}).getWriter();
	await writer.write(Buffer.from(text));
	await writer.close();
}
