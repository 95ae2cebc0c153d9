import {randomBytes} from 'node:crypto';
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {Relocation} from '../../../../src/client/files/copy/relocation.js';
import {type TransferProgress, transfer} from '../../../../src/client/files/copy/transfer.js';
import {FileError} from '../../../../src/client/files/file-error.js';
import {LocalFiles} from '../../../../src/environments/local/local-files.js';
import {scratchDirectory} from '../../../helpers/scratch.js';
import {LOCAL_AND_REMOTE} from '../../local-and-remote.js';

/** An executor without any of longarm's additions, and with trees and renames among them. */
class PlainFiles extends LocalFiles {
	override async supports(): Promise<boolean> {
		return false;
	}
}

const local = async () => new LocalFiles();
const plain = async () => new PlainFiles();
const PAIRS = [
	...Object.entries(LOCAL_AND_REMOTE).flatMap(([name, machine]) => {
		const there = async () => (await machine()).files;
		return [
			{name: `from here, ${name}`, from: local, to: there},
			{name: `back to here, ${name}`, from: there, to: local},
		];
	}),
	{name: 'from an executor that knows no transfers', from: plain, to: local},
	{name: 'to an executor that knows no transfers', from: local, to: plain},
];

describe.each(PAIRS)('$name', ({from: source, to: target}) => {
	async function working() {
		const root = scratchDirectory();
		const [from, to] = [await source(), await target()];
		const isWhole = (await from.supports('transfer')) && (await to.supports('transfer'));
		return {from, to, isWhole, at: (...names: string[]) => join(root, ...names)};
	}

	test('a file is copied, checked, and told of meanwhile', async () => {
		const {from, to, isWhole, at} = await working();
		const content = randomBytes(2_500_000);
		writeFileSync(at('a'), content);
		chmodSync(at('a'), 0o750);
		const progress: TransferProgress[] = [];
		const route = {from: {files: from, path: at('a')}, to: {files: to, path: at('b')}};
		expect(await transfer(route, {progress: each => progress.push(each)})).toEqual({
			entries: 1,
			bytes: content.length,
			errors: [],
			checked: isWhole ? 'checksum' : 'size',
		});
		expect([readFileSync(at('b')).equals(content), readdirSync(at())]).toEqual([true, ['a', 'b']]);
		expect(statSync(at('b')).mode & 0o100).toBe(isWhole ? 0o100 : 0);
		expect(progress.at(-1)).toEqual({entries: 1, bytes: content.length, total: {entries: 1, bytes: content.length}});
		await expect(transfer(route)).rejects.toMatchObject({code: 'refused', path: at('b')});
		writeFileSync(at('a'), 'again');
		await transfer(route, {overwrite: true, verify: true});
		expect([readFileSync(at('b'), 'utf8'), readdirSync(at())]).toEqual(['again', ['a', 'b']]);
	});

	test('a tree is copied with everything that can be taken along', async () => {
		const {from, to, isWhole, at} = await working();
		mkdirSync(at('a', 'sub', 'empty'), {recursive: true});
		writeFileSync(at('a', 'sub', 'ü ?#%'), 'x');
		writeFileSync(at('a', 'large'), randomBytes(1_500_000));
		symlinkSync('large', at('a', 'link'));
		const route = {from: {files: from, path: at('a')}, to: {files: to, path: at('b', 'c')}};
		const outcome = await transfer(route, {verify: true});
		expect(outcome).toEqual({
			entries: isWhole ? 6 : 5,
			bytes: 1_500_001,
			errors: [],
			checked: isWhole ? 'checksum' : 'read-back',
		});
		expect(readdirSync(at('b', 'c'))).toEqual(isWhole ? ['large', 'link', 'sub'] : ['large', 'sub']);
		expect(readdirSync(at('b', 'c', 'sub'))).toEqual(['empty', 'ü ?#%']);
		expect(readFileSync(at('b', 'c', 'large')).equals(readFileSync(at('a', 'large')))).toBe(true);
		await expect(transfer(route)).rejects.toThrow(FileError);
		await transfer(route, {overwrite: true});
	});

	test('what is aborted fails with the reason, and a file is not half there under its name', async () => {
		const {from, to, isWhole, at} = await working();
		writeFileSync(at('a'), randomBytes(9_000_000));
		const controller = new AbortController();
		const route = {from: {files: from, path: at('a')}, to: {files: to, path: at('b')}};
		const copying = transfer(route, {
			signal: controller.signal,
			progress: () => controller.abort(new Error('enough')),
		});
		await expect(copying).rejects.toThrow('enough');
		expect(isWhole && existsSync(at('b'))).toBe(false);
	});

	test('what is not there is not found', async () => {
		const {from, to, at} = await working();
		const route = {from: {files: from, path: at('no')}, to: {files: to, path: at('b')}};
		await expect(transfer(route)).rejects.toMatchObject({code: 'not-found', path: at('no')});
	});
});

test('a file that changes on its way is told of as damaged', async () => {
	class Forgetful extends PlainFiles {
		override writeStream(path: string): WritableStream<Uint8Array> {
			const stream = super.writeStream(path);
			const writer = stream.getWriter();
			return new WritableStream({
				write: chunk => writer.write(new Uint8Array(chunk.length)),
				close: () => writer.close(),
			});
		}
	}
	const root = scratchDirectory();
	writeFileSync(join(root, 'a'), 'content');
	const route = {
		from: {files: new PlainFiles(), path: join(root, 'a')},
		to: {files: new Forgetful(), path: join(root, 'b')},
	};
	await expect(transfer(route, {verify: true})).rejects.toMatchObject({code: 'damaged', path: join(root, 'b')});
});

test('a directory is not copied into itself', async () => {
	const files = new LocalFiles();
	const root = scratchDirectory();
	const route = {from: {files, path: root}, to: {files, path: join(root, 'a', 'b')}};
	await expect(transfer(route)).rejects.toMatchObject({code: 'refused', path: join(root, 'a', 'b')});
	expect(readdirSync(root)).toEqual([]);
});

test('a link to a directory is copied as the directory, whoever copies', async () => {
	for (const files of [new LocalFiles(), new PlainFiles()]) {
		const root = scratchDirectory();
		mkdirSync(join(root, 'a'));
		writeFileSync(join(root, 'a', 'file'), 'x');
		symlinkSync('a', join(root, 'link'));
		await transfer({from: {files, path: join(root, 'link')}, to: {files, path: join(root, 'b')}});
		expect(readdirSync(join(root, 'b'))).toEqual(['file']);
	}
});

test.each([
	'file:///a/../x',
	'file:///a/%2e%2e/x',
	'file:///a/b/..%2f..%2f..%2fx',
	'file:///a/..%5Cx',
	'file:///a/b//x',
	'file:///a/',
	'file:///a',
	'file:///ab/x',
	'file:///x',
])('%s of another machine does not lead out of the target', href => {
	expect(() => new Relocation('/a', '/t').of(href)).toThrow(FileError);
});

test('names keep their bytes when they are relocated', () => {
	expect(new Relocation('file:///a/', '/t/u').of('file:///a/b%20c/%FF').href).toBe('file:///t/u/b%20c/%FF');
	expect(new Relocation('/', '/t').of('file:///b').href).toBe('file:///t/b');
	expect(new Relocation('/a', '/').of('file:///a/b').href).toBe('file:///b');
});
