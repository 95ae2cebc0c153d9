import {execFileSync} from 'node:child_process';
import {
	chmodSync,
	chownSync,
	existsSync,
	linkSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, onTestFinished, test, vi} from 'vitest';
import {copyFiles} from '../../../../src/client/files/copy/copy-files.js';
import type {FileFeature, Files} from '../../../../src/client/files/files.js';
import {LocalFiles} from '../../../../src/environments/local/local-files.js';
import {systemError} from '../../../../src/filesystem/file-errors.js';
import {syncCalls} from '../../../../src/filesystem/syscalls.js';
import {needsRoot} from '../../../helpers/needs.js';
import {scratchDirectory} from '../../../helpers/scratch.js';
import {LOCAL_AND_REMOTE} from '../../local-and-remote.js';

const CONTENT = Buffer.alloc(9 * 1024 * 1024, 'content ');
const HALF = CONTENT.subarray(0, CONTENT.length / 2);
const NOBODY = 65_534;

/** A longarm executor of before `fsOwned`. */
class OlderFiles extends LocalFiles {
	override async supports(feature?: FileFeature): Promise<boolean> {
		return feature !== 'owned';
	}
}

function workspace() {
	const directory = scratchDirectory();
	const at = (...names: string[]) => join(directory, ...names);
	for (const name of ['source', 'target']) mkdirSync(at(name));
	writeFileSync(at('source', 'a'), CONTENT);
	const part = at('target', 'a.longarm-part');
	const copy = async (files: Files) => {
		const to = {files, path: at('target', 'a')};
		const result = await copyFiles({from: {files: new LocalFiles(), path: at('source', 'a')}, to});
		expect(readFileSync(at('target', 'a')).equals(CONTENT)).toBe(true);
		return result;
	};
	return {at, part, copy};
}

describe.each(['on this machine', 'over memory'])('the partial file of a copy %s', where => {
	const open = async () => (await LOCAL_AND_REMOTE[where]!()).files;

	test('is resumed if it is our own', async () => {
		const {at, part, copy} = workspace();
		writeFileSync(part, HALF, {mode: 0o600});
		const {ino} = statSync(part);
		expect(await copy(await open())).toMatchObject({resumedBytes: HALF.length, bytes: CONTENT.length - HALF.length});
		expect([statSync(at('target', 'a')).ino, readdirSync(at('target'))]).toEqual([ino, ['a']]);
	});

	test('is made anew if another user owns it', needsRoot(), async () => {
		const {at, part, copy} = workspace();
		writeFileSync(part, HALF, {mode: 0o600});
		chownSync(part, NOBODY, NOBODY);
		expect(await copy(await open())).toMatchObject({resumedBytes: 0, bytes: CONTENT.length});
		expect(statSync(at('target', 'a')).uid).toBe(0);
	});

	test.each([
		['its group', 0o620],
		['everybody', 0o602],
	])('is made anew if %s can write to it', async (_, mode) => {
		const {part, copy} = workspace();
		writeFileSync(part, HALF);
		chmodSync(part, mode);
		expect(await copy(await open())).toMatchObject({resumedBytes: 0, bytes: CONTENT.length});
	});

	test('is made anew if the file has another name, which keeps its content', async () => {
		const {at, part, copy} = workspace();
		writeFileSync(at('precious'), HALF, {mode: 0o600});
		linkSync(at('precious'), part);
		expect(await copy(await open())).toMatchObject({resumedBytes: 0});
		expect(readFileSync(at('precious')).equals(HALF)).toBe(true);
		expect(statSync(at('target', 'a')).nlink).toBe(1);
	});

	test.each(['precious', 'missing'])('is made anew if a link is there: to a file that is %s', async name => {
		const {at, part, copy} = workspace();
		writeFileSync(at('precious'), HALF, {mode: 0o600});
		symlinkSync(at(name), part);
		expect(await copy(await open())).toMatchObject({resumedBytes: 0});
		expect(readFileSync(at('precious')).equals(HALF)).toBe(true);
		expect(existsSync(at('missing'))).toBe(false);
	});

	test('is made anew if a FIFO is there', async () => {
		const {part, copy} = workspace();
		execFileSync('mkfifo', [part]);
		expect(await copy(await open())).toMatchObject({files: 1, resumedBytes: 0});
	});

	test(
		'is made anew by another user in a directory where everybody may remove only their own',
		needsRoot(),
		async () => {
			const {at, part, copy} = workspace();
			chmodSync(at('target'), 0o1777);
			writeFileSync(part, HALF, {mode: 0o600});
			chownSync(part, NOBODY, NOBODY);
			// Root may remove everything; a user may not.
			const original = {...syncCalls};
			vi.spyOn(syncCalls, 'unlink').mockImplementation(path => {
				if (path.endsWith('/a.longarm-part')) throw systemError('EPERM');
				return original.unlink(path);
			});
			onTestFinished(() => void vi.restoreAllMocks());
			expect(await copy(await open())).toMatchObject({files: 1, resumedBytes: 0});
			expect([statSync(at('target', 'a')).uid, readFileSync(part).equals(HALF)]).toEqual([0, true]);
		},
	);

	test('has another name if its own is taken by something that cannot be removed', async () => {
		const {at, part, copy} = workspace();
		mkdirSync(join(part, 'full'), {recursive: true});
		expect(await copy(await open())).toMatchObject({files: 1, resumedBytes: 0});
		expect(readdirSync(at('target'))).toEqual(['a', 'a.longarm-part']);
	});

	test('with such a name is removed if the copy fails', async () => {
		const {at, part} = workspace();
		mkdirSync(join(part, 'full'), {recursive: true});
		class Shrinking extends LocalFiles {
			override readStream(): ReadableStream<Uint8Array> {
				return new Blob([HALF]).stream() as ReadableStream<Uint8Array>;
			}
		}
		const from = {files: new Shrinking(), path: at('source', 'a')};
		const copying = copyFiles({from, to: {files: await open(), path: at('target', 'a')}});
		await expect(copying).rejects.toMatchObject({code: 'failed'});
		expect(readdirSync(at('target'))).toEqual(['a.longarm-part']);
	});

	test('is opened as our own in the mode `update` only if it is', async () => {
		const {at} = workspace();
		const files = await open();
		const update = (name: string) => files.writeStream(at(name), {offset: 0, owned: true}).close();
		await update('new');
		expect(statSync(at('new')).mode & 0o777).toBe(0o600);
		await update('new');
		linkSync(at('new'), at('other'));
		await expect(update('new')).rejects.toMatchObject({code: 'refused'});
	});
});

test('on a server that cannot tell its own files no partial file is resumed', async () => {
	const {at, part, copy} = workspace();
	writeFileSync(part, HALF, {mode: 0o600});
	expect(await copy(new OlderFiles())).toMatchObject({resumedBytes: 0});
	expect(readFileSync(part).equals(HALF)).toBe(true);
	expect(readdirSync(at('target'))).toEqual(['a', 'a.longarm-part']);
});

test('of a small file of a tree the partial file has another name, if its own is a file that may not be removed', async () => {
	const {at, part} = workspace();
	mkdirSync(at('tree'));
	writeFileSync(at('tree', 'a'), 'small');
	writeFileSync(part, 'precious');
	const original = {...syncCalls};
	vi.spyOn(syncCalls, 'unlink').mockImplementation(path => {
		if (path.endsWith('/a.longarm-part')) throw systemError('EPERM');
		return original.unlink(path);
	});
	onTestFinished(() => void vi.restoreAllMocks());
	const files = new LocalFiles();
	const {failures} = await copyFiles({from: {files, path: at('tree')}, to: {files, path: at('target')}});
	expect([failures, readdirSync(at('target'))]).toEqual([[], ['a', 'a.longarm-part']]);
	expect([readFileSync(at('target', 'a'), 'utf8'), readFileSync(part, 'utf8')]).toEqual(['small', 'precious']);
});
